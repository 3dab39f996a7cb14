import { GoogleKind } from '../../core/contract/schemas/definition.ts'
import type { Issue } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import { type Field, isRecordType, type PlainType, type RecordType, typeOf } from './fields.ts'

/** The field for the logo that Google requires in a class, by the type of the class. */
const requiredLogos: Record<string, string> = { LoyaltyClass: 'programLogo', TransitClass: 'logo' }

export function needsLogo(kind: GoogleKind): boolean {
  return typeOf(kind, 'Class').name in requiredLogos
}

export interface CheckOptions {
  /**
   * Whether a missing logo is an issue. False if the server has no https address, because Google fetches images only by
   * https.
   */
  needsLogos: boolean
}

/** All passes of a class share its logo, so a logo that depends on the value of a holder does not count. */
const MISSING_LOGO =
  'Google requires a logo that all passes share: give the design an icon or a logo with a fixed image, a default, or an else'

/** Returns the issues for which Google would reject a class or an object, with their paths in this resource. */
export function checkFields(type: RecordType, resource: object, { needsLogos }: CheckOptions): Issue[] {
  const logo = requiredLogos[type.name] ?? ''
  const found: Issue[] = []
  checkRecord(type, resource, [], found)
  return found.flatMap((issue) => {
    const isMissingLogo = issue.path.length === 1 && issue.path[0] === logo && !(logo in resource)
    if (!isMissingLogo) return [issue]
    return needsLogos ? [{ ...issue, message: MISSING_LOGO }] : []
  })
}

function checkRecord(type: RecordType, value: unknown, path: Issue['path'], found: Issue[]): void {
  if (!isJsonObject(value)) {
    found.push({ path, message: 'Must be an object' })
    return
  }
  for (const [key, item] of Object.entries(value)) {
    const field = type.fields.get(key)
    if (field) checkField(field, item, [...path, key], found)
    else {
      const message = `Unknown field: Google's ${type.name} has no such field${suggestion(type, key)}`
      found.push({ path: [...path, key], message })
    }
  }
  for (const [key, { isRequired }] of type.fields) {
    if (isRequired && !(key in value))
      found.push({ path: [...path, key], message: `Google requires this field in a ${type.name}` })
  }
  if (type.name === 'Image' && 'sourceUri' in value === 'privateImageId' in value) {
    found.push({ path: [...path, 'sourceUri'], message: 'Google accepts only one of sourceUri and privateImageId' })
  }
}

function checkField(field: Field, value: unknown, path: Issue['path'], found: Issue[]): void {
  if (field.maxItems === undefined) {
    checkValue(field, value, path, found)
    return
  }
  if (!Array.isArray(value)) {
    found.push({ path, message: 'Must be a list' })
    return
  }
  if (value.length > field.maxItems) found.push({ path, message: `Google accepts at most ${field.maxItems} items` })
  const seen = new Set<unknown>()
  for (const [index, item] of value.entries()) {
    checkValue(field, item, [...path, index], found)
    const id = isJsonObject(item) ? item.id : undefined
    if (id !== undefined && seen.has(id)) found.push({ path: [...path, index, 'id'], message: `Duplicate id ${id}` })
    seen.add(id)
  }
}

function checkValue({ type, isRequired }: Field, value: unknown, path: Issue['path'], found: Issue[]): void {
  if (isRecordType(type)) {
    checkRecord(type, value, path, found)
    return
  }
  const message = typeof type === 'string' ? flawOf(type, value) : enumFlaw(type, value)
  if (message) found.push({ path, message })
  else if (isRequired && isEmpty(value)) found.push({ path, message: 'Google requires a value that is not empty' })
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'string' && (value.trim() === '' || value.endsWith('_UNSPECIFIED'))
}

function enumFlaw(names: readonly string[], value: unknown): string | undefined {
  if (typeof value === 'string' && names.includes(value)) return undefined
  // Omit lower-case names, which Google still accepts, but no longer documents.
  return `Must be one of ${names.filter((name) => /^[A-Z]/.test(name) && !name.endsWith('_UNSPECIFIED')).join(', ')}`
}

const ID = /^\d+\.[A-Za-z0-9._-]+$/
const KEY = /^[A-Za-z0-9_-]*$/
const COLOR = /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i
const INT64 = /^-?\d{1,19}$/
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:\d\d(?::\d\d)?)?$/
const MAX_INT32 = 2 ** 31 - 1

const matches = (pattern: RegExp) => (value: unknown) => pattern.test(String(value))
const isWithin = (bound: number) => (value: unknown) => Number.isFinite(value) && Math.abs(Number(value)) <= bound

type Check = readonly [isValid: (value: unknown) => boolean, message: string]

const ofTexts: Partial<Record<PlainType, Check>> = {
  id: [matches(ID), 'Must be issuer.suffix, where the suffix has only letters, digits, ., _ and -'],
  key: [matches(KEY), 'Must have only letters, digits, _ and -'],
  color: [matches(COLOR), 'Must be a color such as #1a2b3c'],
  url: [(value) => URL.canParse(String(value)), 'Must be an address such as https://example.com/'],
  dateTime: [(value) => isDateTime(String(value)), 'Must be a date-time such as 2030-01-31T18:00:00Z'],
  localDateTime: [
    (value) => isDateTime(String(value), { isLocal: true }),
    'Must be a date-time without offset: 2030-01-31T18:00:00',
  ],
}

const ofOthers: Partial<Record<PlainType, Check>> = {
  boolean: [(value) => typeof value === 'boolean', 'Must be true or false'],
  double: [Number.isFinite, 'Must be a number'],
  latitude: [isWithin(90), 'Must be a number from -90 to 90'],
  longitude: [isWithin(180), 'Must be a number from -180 to 180'],
  int32: [(value) => Number.isInteger(value) && isWithin(MAX_INT32)(value), 'Must be a whole number'],
  int64: [isInt64, 'Must be a whole number in digits, such as "12500000"'],
}

function flawOf(type: PlainType, value: unknown): string | undefined {
  const other = ofOthers[type]
  if (!other && typeof value !== 'string') return 'Must be a text'
  const [isValid, message] = other ?? ofTexts[type] ?? [() => true, '']
  return isValid(value) ? undefined : message
}

function isInt64(value: unknown): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value)
  return typeof value === 'string' && INT64.test(value) && BigInt.asIntN(64, BigInt(value)) === BigInt(value)
}

function isDateTime(value: string, { isLocal = false } = {}): boolean {
  const [, offset] = DATE_TIME.exec(value) ?? ['', null]
  if (offset === null || (isLocal && offset !== undefined)) return false
  return !Number.isNaN(Date.parse(`${value.slice(0, 16)}Z`))
}

/** Suggests the name in the correct case, or lists the kinds that have a field with this name. */
function suggestion({ name, fields }: RecordType, key: string): string {
  const meant = [...fields.keys()].find((field) => field.toLowerCase() === key.toLowerCase())
  if (meant) return `; did you mean ${meant}?`
  const role = (['Class', 'Object'] as const).find((end) =>
    GoogleKind.options.some((kind) => typeOf(kind, end).name === name),
  )
  const kinds = role ? GoogleKind.options.filter((kind) => typeOf(kind, role).fields.has(key)) : []
  return kinds.length > 0 ? `; set google.kind to ${kinds.join(' or ')}, which has it` : ''
}
