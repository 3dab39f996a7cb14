import type { GoogleKind } from '../../../src/core/contract/schemas/definition.ts'
import { type Field, isRecordType, type PlainType, type RecordType } from '../../../src/wallets/google/fields.ts'

/** A resource with every field that the table knows, and each way to get one of them wrong. */

type Path = (string | number)[]

const right: Record<PlainType, unknown> = {
  text: 'Text',
  id: '3388.sample',
  key: 'sample',
  url: 'https://example.com/',
  color: '#1a2b3c',
  dateTime: '2030-01-31T18:00:00Z',
  localDateTime: '2030-01-31T18:00:00',
  boolean: true,
  int32: 7,
  int64: '12500000',
  double: 47.4,
  latitude: -90,
  longitude: 180,
}

export function fullRecord(type: RecordType): Record<string, unknown> {
  // Google accepts only one of the two image fields.
  const fields = [...type.fields].filter(([name]) => name !== 'privateImageId')
  return Object.fromEntries(fields.map(([name, field]) => [name, rightValue(field)]))
}

/** The valid values by field. They are shared, because creating them for each mistake costs more than the checks. */
const rightValues = new WeakMap<Field, unknown>()

function rightValue(field: Field): unknown {
  if (!rightValues.has(field)) rightValues.set(field, makeRightValue(field))
  return rightValues.get(field)
}

function makeRightValue(field: Field): unknown {
  const { type, maxItems } = field
  const value = isRecordType(type) ? fullRecord(type) : typeof type === 'string' ? right[type] : type.at(-1)
  return maxItems === undefined ? value : [value]
}

const wrongPlain: Record<PlainType, unknown[]> = {
  text: [7, {}, null],
  id: ['3388', '3388.a/b'],
  key: ['a.b', 7],
  url: ['example', 7],
  color: ['red', '#12345', 7],
  dateTime: ['tomorrow', '2030-01-31', 7],
  localDateTime: ['2030-01-31T18:00:00Z', 'tomorrow'],
  boolean: ['yes', 1],
  int32: ['many', 1.5, 2 ** 31],
  int64: ['12.5', '9223372036854775808', 1.5, true],
  double: ['many', true],
  latitude: ['many', 90.1],
  longitude: ['many', -180.1],
}

export interface Mistake {
  path: Path
  /** Undefined removes the field. */
  value: unknown
}

/** Yields each mistake in a resource that the table defines. Fields that occur twice in a type are used once. */
export function* mistakesIn(type: RecordType, path: Path = [], seen = new Set<RecordType>()): Generator<Mistake> {
  if (seen.has(type)) return
  seen.add(type)
  yield { path: [...path, 'unheardOf'], value: 'x' }
  if (type.name === 'Image') yield { path: [...path, 'sourceUri'], value: undefined }
  for (const [name, field] of type.fields) {
    const at = [...path, name]
    if (field.isRequired) yield { path: at, value: undefined }
    if (field.maxItems === undefined) {
      yield* wrongValues(field, at, seen)
      continue
    }
    yield { path: at, value: 'no list' }
    yield { path: [...at, 0], value: null }
    if (Number.isFinite(field.maxItems)) {
      yield { path: at, value: Array.from({ length: field.maxItems + 1 }, () => withoutId(rightValue(field))) }
    }
    if (isRecordType(field.type) && field.type.fields.has('id')) {
      const [item] = rightValue(field) as unknown[]
      yield { path: [...at, 1], value: item }
    }
    yield* wrongValues(field, [...at, 0], seen)
  }
}

function* wrongValues({ type, isRequired }: Field, path: Path, seen: Set<RecordType>): Generator<Mistake> {
  if (isRecordType(type)) {
    yield { path, value: 'no object' }
    yield { path, value: [] }
    yield* mistakesIn(type, path, seen)
    return
  }
  for (const value of typeof type === 'string' ? wrongPlain[type] : ['UNHEARD_OF', 7]) yield { path, value }
  if (isRequired && typeof right[type as PlainType] !== 'number') yield { path, value: '' }
}

function withoutId(list: unknown): unknown {
  const [item] = list as Record<string, unknown>[]
  const { id: _, ...rest } = item!
  return rest
}

/** Returns a resource with the mistake, and otherwise only with required fields. */
export function withMistake(type: RecordType, { path, value }: Mistake): Record<string, unknown> {
  const needed = [...type.fields].filter(([name, { isRequired }]) => isRequired || name === path[0])
  const record = Object.fromEntries(needed.map(([name, field]) => [name, rightValue(field)]))
  return replaced(record, path, value) as Record<string, unknown>
}

export function replaced(current: unknown, [key, ...rest]: Path, value: unknown): unknown {
  if (key === undefined) return value
  const copy = (Array.isArray(current) ? [...current] : { ...(current as object) }) as Record<string | number, unknown>
  if (rest.length === 0 && value === undefined) delete copy[key]
  else copy[key] = replaced(copy[key], rest, value)
  return copy
}

/**
 * Returns the overrides with which a pass has every field of its kind, except the copy of the class that Google adds.
 */
export function fullOverrides(kind: GoogleKind, typeOf: (kind: GoogleKind, role: 'Class' | 'Object') => RecordType) {
  const { id: _, ...ofClass } = fullRecord(typeOf(kind, 'Class'))
  const { id: __, classId: ___, state: ____, classReference: _____, ...object } = fullRecord(typeOf(kind, 'Object'))
  return { kind, class: withoutRejected(ofClass), object: withoutRejected(object) }
}

/** The keys that publishing rejects: no door can read the barcode, and the service counts the notifications. */
export const rejectedKeys = ['rotatingBarcode', 'messages', 'notifyPreference']

function withoutRejected(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !rejectedKeys.includes(key)))
}
