import type { GoogleKind } from '../../core/contract/definition.ts'
import table from './field-table.json' with { type: 'json' }

/**
 * The fields of Google's classes and objects, as its own interface description and reference name them. In the file a
 * field is a word: a type of the table, a plain type or the names of an enum (`FRONT|BACK`), then `[]` for a list (`[10]`
 * for one of so many items at most), then `!` where Google refuses a resource without it.
 */

export type GoogleRole = 'Class' | 'Object'

export type PlainType =
  | 'text'
  | 'id'
  | 'key'
  | 'url'
  | 'color'
  | 'dateTime'
  | 'localDateTime'
  | 'boolean'
  | 'int32'
  | 'int64'
  | 'double'
  | 'latitude'
  | 'longitude'

export interface Field {
  /** A plain type, the fields of a record, or the names of an enum. */
  type: PlainType | RecordType | readonly string[]
  /** How many items the list takes (infinitely many where no bound is known); undefined for what is no list. */
  maxItems: number | undefined
  isRequired: boolean
}

export interface RecordType {
  readonly name: string
  readonly fields: ReadonlyMap<string, Field>
}

const WORD = /^([A-Za-z0-9_|]+)(?:\[(\d*)\])?(!?)$/

const types = new Map<string, { name: string; fields: Map<string, Field> }>()
for (const name of Object.keys(table.types)) types.set(name, { name, fields: new Map() })
for (const [name, fields] of Object.entries<Record<string, string>>(table.types)) {
  for (const [field, word] of Object.entries(fields)) types.get(name)!.fields.set(field, readWord(word))
}

function readWord(word: string): Field {
  const [, type = '', max, required] = WORD.exec(word)!
  return {
    type: type.includes('|') ? type.split('|') : (types.get(type) ?? (type as PlainType)),
    maxItems: max === undefined ? undefined : max === '' ? Number.POSITIVE_INFINITY : Number(max),
    isRequired: required === '!',
  }
}

/** The fields of a class or an object of a kind. */
export function typeOf(kind: GoogleKind, role: GoogleRole): RecordType {
  return types.get(`${kind[0]!.toUpperCase()}${kind.slice(1)}${role}`)!
}

export function isRecordType(type: Field['type']): type is RecordType {
  return typeof type === 'object' && 'fields' in type
}
