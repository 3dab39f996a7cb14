import { z } from 'zod'
import {
  barcodeFormatNames,
  barcodeFormatOf,
  barcodeFormats,
  findUndrawable,
  isLatin1,
} from '../../../core/barcode-formats.ts'
import { isJsonObject } from '../../../core/json.ts'
import { parseColor } from '../../../core/rules/display/colors.ts'
import { posterPlaces } from '../../../core/rules/display/poster.ts'
import { isP256Key, MAX_NFC_BYTES, NFC_KEY_FORM } from '../../../core/rules/pass/nfc.ts'
import { isTimeZone } from '../../../core/rules/redemption/time-zones.ts'
import { parseFieldWord } from '../../field-word.ts'
import table from './field-table.json' with { type: 'json' }

/**
 * The schema of pass.json, according to the rules of Apple's own open pass-builder and to Apple's documentation. Types
 * are checked strictly, because phones silently reject a pass with a value of the wrong type. The `rules` restrict
 * values further; their issues have the code `custom`. Unknown keys are accepted, so that published versions with
 * unknown keys keep working. `unknownKeys` finds these keys.
 */

const text = z.string()
const number = z.number()

/** Apple's date format: seconds and their fraction are optional, and the offset is required. */
const W3C_DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/

export function isW3cDate(value: unknown): boolean {
  if (typeof value !== 'string' || !W3C_DATE.test(value) || Number.isNaN(Date.parse(value))) return false
  // Compare the day, because Date.parse converts February 30 to a day in March.
  const day = value.slice(0, 10)
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)
}

export const Color = text.refine(
  (value) => parseColor(value) !== null,
  'Must be a color such as rgb(26, 43, 60), #1a2b3c or #abc',
)

/** Apple's limit for images that a phone fetches. */
const MAX_REMOTE_IMAGE_BYTES = 2_097_152

/** Whether a URL is https. The two slashes are required, because without them, only browsers find the host. */
function isSecure(value: string): boolean {
  return URL.canParse(value) && /^https:\/\//i.test(value)
}

function isCharset(name: string): boolean {
  try {
    return new TextDecoder(name) !== undefined
  } catch {
    return false
  }
}

const plainTypes: Record<string, z.ZodType> = {
  text,
  filled: text.min(1),
  number,
  boolean: z.boolean(),
  value: z.union([text, number]),
  date: text.refine(isW3cDate, 'Must be a date and time with an offset, such as 2027-05-31T19:30+02:00'),
  color: Color,
  currency: text.refine((value) => /^[A-Z]{3}$/.test(value), 'Must be a currency of ISO 4217, such as EUR'),
  timeZone: text.refine(isTimeZone, 'Must be an IANA time zone, such as Europe/Lisbon'),
  webAddress: text.refine(
    (value) => URL.canParse(value) && /^https?:\/\//i.test(value),
    'Must be an address that begins with https:// or http://',
  ),
  address: text.refine(
    (value) => URL.canParse(value),
    'Must be an address with its scheme, such as https://example.com/ or myapp://ticket',
  ),
  secureAddress: text.refine(isSecure, 'Must be an address that begins with https://'),
  upcomingType: oneOf(['event']),
  imageBytes: number.refine((bytes) => bytes > 0 && bytes <= MAX_REMOTE_IMAGE_BYTES, 'Must be at most 2097152 bytes'),
  uuid: text.refine((value) => /^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/.test(value), 'Must be a UUID'),
  latitude: number.refine((value) => Math.abs(value) <= 90, 'Must be from -90 to 90'),
  longitude: number.refine((value) => Math.abs(value) <= 180, 'Must be from -180 to 180'),
  distance: number.refine((meters) => meters > 0, 'Must be more than 0'),
  row: number.refine((row) => row === 0 || row === 1, 'Must be 0 or 1'),
  uint16: number.refine((value) => Number.isInteger(value) && value >= 0 && value <= 65_535, 'Must be 0 to 65535'),
  storeIdentifier: number.refine(
    (value) => Number.isSafeInteger(value) && value > 0,
    'Must be the number of an app in the App Store',
  ),
  charset: text.refine(isCharset, 'Must be the name of a character set, such as utf-8'),
  nfcMessage: text.refine((value) => {
    const bytes = Buffer.byteLength(value)
    return bytes > 0 && bytes <= MAX_NFC_BYTES
  }, `Must have 1 to ${MAX_NFC_BYTES} bytes`),
  barcodeFormat: oneOf(barcodeFormatNames.map((format) => barcodeFormats[format].apple)),
  nfcKey: text.refine(isP256Key, NFC_KEY_FORM),
}

export function isNumberField(field: Record<string, unknown>): boolean {
  return field.numberStyle !== undefined || field.currencyCode !== undefined
}

const DAY_MS = 86_400_000

type Report = (path: PropertyKey[], message: string, params?: object) => void

const rules: Record<string, (value: never, report: Report) => void> = {
  Field(field: Record<string, unknown>, report) {
    // Skip a field without a value, because phones do not show it.
    if (String(field.value).trim() === '') return
    if (isNumberField(field) && typeof field.value !== 'number') {
      report(['value'], 'Must be a number, since numberStyle or currencyCode is set')
    }
    if ((field.dateStyle !== undefined || field.timeStyle !== undefined) && !isW3cDate(field.value)) {
      report(
        ['value'],
        'Must be a date and time with an offset, such as 2027-05-31T19:30+02:00, since dateStyle or timeStyle is set',
      )
    }
  },
  Style({ transitType: _, ...groups }: FieldGroups, report) {
    reportRepeatedKeys(groups, Object.keys(table.types.Style), report)
  },
  PosterStyle(groups: FieldGroups, report) {
    reportRepeatedKeys(groups, Object.keys(table.types.PosterStyle), report)
    for (const { group, max, named } of posterPlaces) {
      if ((groups[group]?.length ?? 0) > max) report([group, max], `A poster shows at most ${named}`)
    }
  },
  FeaturedAction(action: Partial<Record<'identifier' | 'type' | 'url' | 'placeIdentifier', string>>, report) {
    const { identifier, type, url, placeIdentifier } = action
    if (!identifier) report(['identifier'], identifier === '' ? 'Must not be empty' : 'Is required')
    if (type === undefined) report(['type'], 'Is required')
    if (type === 'place') {
      if (!placeIdentifier) report(['placeIdentifier'], 'Is required: the Place ID of Apple Maps that a place opens')
      if (url !== undefined)
        report(['url'], 'iPhones do not show a place with a url: remove the url, and use placeIdentifier')
    } else if (placeIdentifier !== undefined)
      report(['placeIdentifier'], 'Only an action of the type place can have this key')
    else if (url === undefined) report(['url'], 'Is required')
    const isCall = type === 'call' && url !== undefined && /^tel:./i.test(url)
    if (url !== undefined && type !== 'place' && !isCall && !isSecure(url)) {
      report(['url'], `Must be an address that begins with https://${type === 'call' ? ' or tel:' : ''}`)
    }
  },
  UpcomingPass(entry: Partial<Record<'identifier' | 'name' | 'type', string>>, report) {
    for (const key of ['identifier', 'name', 'type'] as const) if (!entry[key]) report([key], 'Is required')
  },
  Barcode({ format, message, messageEncoding }: Record<'format' | 'message' | 'messageEncoding', string>, report) {
    const known = barcodeFormatOf('apple', format)
    const reason = known && findUndrawable(known, message)
    if (reason) report(['message'], `Cannot be drawn: the message ${reason}`)
    else if (messageEncoding.toLowerCase() === 'iso-8859-1' && !isLatin1(message)) {
      report(['message'], 'Contains characters that iso-8859-1 does not have: set messageEncoding to utf-8')
    }
  },
  RelevantDate(dates: { date?: string; relevantDate?: string; startDate?: string; endDate?: string }, report) {
    const { date, relevantDate, startDate, endDate } = dates
    if ((startDate === undefined) !== (endDate === undefined)) report([], 'Needs startDate and endDate')
    else if (startDate === undefined && date === undefined && relevantDate === undefined) {
      report([], 'Needs a date, or startDate and endDate')
    }
    const length = Date.parse(endDate ?? '') - Date.parse(startDate ?? '')
    if (length < 0) report(['endDate'], 'Must not be before startDate')
    if (length > DAY_MS) report(['endDate'], 'Must be at most 24 hours after startDate')
  },
  Pass(pass: PassKeys, report) {
    const { appLaunchURL, associatedStoreIdentifiers, featuredActions = [] } = pass
    if (featuredActions.length > MAX_ACTIONS) {
      report(['featuredActions', MAX_ACTIONS], `An iPhone shows at most ${MAX_ACTIONS} featured actions`)
    }
    for (const [index, { identifier }] of featuredActions.entries()) {
      const isTwice = featuredActions.slice(0, index).some((other) => other.identifier === identifier)
      if (isTwice && identifier)
        report(['featuredActions', index, 'identifier'], `Two actions have the identifier "${identifier}"`)
    }
    if (appLaunchURL === undefined || associatedStoreIdentifiers?.[0]) return
    report(['appLaunchURL'], 'Needs associatedStoreIdentifiers: the App Store numbers of the apps that open the URL')
  },
}

interface PassKeys {
  appLaunchURL?: string
  associatedStoreIdentifiers?: number[]
  featuredActions?: { identifier?: string }[]
}

const MAX_ACTIONS = 2

type FieldGroups = Record<string, { key: string }[]>

function reportRepeatedKeys(groups: FieldGroups, names: string[], report: Report): void {
  const taken = new Set<string>()
  for (const group of names) {
    for (const [index, { key }] of (groups[group] ?? []).entries()) {
      if (taken.has(key)) {
        report([group, index, 'key'], `Two fields have the key "${key}"`, { isRefusedByPhones: true })
      }
      taken.add(key)
    }
  }
}

type ObjectType = z.ZodObject<Record<string, z.ZodType>>
const objectTypes = new Map<string, ObjectType>()

function objectType(name: string): ObjectType {
  let type = objectTypes.get(name)
  if (!type) {
    type = z.looseObject(shapeOf(name))
    const rule = rules[name]
    if (rule) {
      type = type.superRefine((value, context) =>
        rule(value as never, (path, message, params) => context.addIssue({ code: 'custom', path, message, params })),
      )
    }
    objectTypes.set(name, type)
  }
  return type
}

function shapeOf(name: string): Record<string, z.ZodType> {
  const fields: Record<string, string> = table.types[name as keyof typeof table.types]
  return Object.fromEntries(Object.entries(fields).map(([key, word]) => [key, fieldType(word)]))
}

function fieldType(word: string): z.ZodType {
  const { type, maxItems, isRequired } = parseFieldWord(word)
  const one = typeof type === 'string' ? (plainTypes[type] ?? objectType(type)) : oneOf(type)
  const whole = maxItems === undefined ? one : z.array(one).max(maxItems)
  return isRequired ? whole : whole.optional()
}

function oneOf(names: readonly string[]): z.ZodType {
  return text.refine((value) => names.includes(value), `Must be one of ${names.join(', ')}`)
}

export const Field = objectType('Field')

export const RelevantDate = objectType('RelevantDate')

export const FeaturedAction = objectType('FeaturedAction')

export const Overrides = objectType('Pass')

export const PassJson = z.looseObject({
  ...shapeOf('Pass'),
  formatVersion: z.literal(1),
  passTypeIdentifier: text.min(1),
  teamIdentifier: text.min(1),
  serialNumber: text.min(1),
  organizationName: text.min(1),
  description: text.min(1),
  webServiceURL: text.optional(),
  authenticationToken: text.min(16).optional(),
  expirationDate: text.optional(),
})

/**
 * Whether phones reject the whole pass because of an issue. Other issues are reported only when a version is published
 * or a pass is created, so that passes of older versions can still be downloaded.
 */
export function isRefusedByPhones(issue: z.core.$ZodIssue): boolean {
  return issue.code !== 'custom' || issue.params?.isRefusedByPhones === true
}

/** Finds keys that pass.json does not support, at any depth. Does not search values of a wrong type. */
export function* unknownKeys(
  value: unknown,
  type: z.ZodType = Overrides,
  path: (string | number)[] = [],
): Generator<{ path: (string | number)[]; message: string }> {
  if (type instanceof z.ZodOptional) yield* unknownKeys(value, type.unwrap() as z.ZodType, path)
  if (type instanceof z.ZodArray && Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* unknownKeys(item, type.element as z.ZodType, [...path, index])
  }
  if (!(type instanceof z.ZodObject) || !isJsonObject(value)) return
  const names = Object.keys(type.shape)
  // If a type defines no keys, such as the type of `userInfo`, accept any key.
  if (names.length === 0) return
  for (const [key, item] of Object.entries(value)) {
    if (Object.hasOwn(type.shape, key)) yield* unknownKeys(item, type.shape[key] as z.ZodType, [...path, key])
    else yield { path: [...path, key], message: `Unknown key: Apple has no such key here${suggestion(names, key)}` }
  }
}

function suggestion(names: string[], key: string): string {
  const plain = (name: string) => name.toLowerCase().replace(/s$/, '')
  const meant = names.find((name) => plain(name) === plain(key))
  return meant === undefined ? '' : `; did you mean ${meant}?`
}
