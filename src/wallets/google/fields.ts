import type { GoogleKind, ImageRole } from '../../core/contract/definition.ts'
import type { Card, CardField } from '../../core/rules/display/card.ts'
import { MAX_GOOGLE_MODULES } from '../../core/rules/display/google-view.ts'
import table from './field-table.json' with { type: 'json' }
import { isShownByItself, type NativeField, nativeField } from './native-values.ts'
import { type GoogleIssuer, kindOf } from './resource.ts'

const MAX_ROWS = 3
const MAX_ITEMS = 3

/** The field that a generic pass shows in large, as its header, and nowhere else. */
export function titleField(card: Card): CardField | undefined {
  return kindOf(card) === 'generic' ? card.fields.primary[0] : undefined
}

/** A text, under a header or none. */
interface TextModule {
  id: string
  header?: string
  body: string
}

/**
 * Every field with a value as a text module, in the order of the card, and after them the links that Google would not
 * show; undefined where there is none. What is too much for Google stands in the last module, a line each; what the rows of
 * the front name keeps a module of its own.
 */
export function textModules(card: Card, links: { uri: string; description: string }[] = []): TextModule[] | undefined {
  const modules: TextModule[] = [...frontGroups(card), card.fields.back]
    .flat()
    .filter((field) => firstText(field.value) !== undefined && !isShownByItself(card, field))
    .map(({ key, label, value }) => ({ id: key, ...(firstText(label) && { header: label }), body: value }))
  const surplusLinks = links
    .slice(MAX_GOOGLE_MODULES)
    .map(({ uri, description }, index) => ({ id: `more-link-${index + 1}`, header: description, body: uri }))
  const all = [...modules, ...surplusLinks]
  if (all.length <= MAX_GOOGLE_MODULES) return all.length > 0 ? all : undefined
  return folded(all, new Set(frontRows(card).flatMap((row) => row.map(({ key }) => key))))
}

function folded(modules: TextModule[], onFront: Set<string>): TextModule[] {
  let places = MAX_GOOGLE_MODULES - 1 - modules.filter(({ id }) => onFront.has(id)).length
  const shown = modules.filter(({ id }) => onFront.has(id) || places-- > 0)
  const rest = modules.filter((module) => !shown.includes(module))
  let id = 'more'
  while (shown.some((module) => module.id === id)) id += '-'
  return [...shown, { id, body: rest.map(lineOf).join('\n') }]
}

function lineOf({ header, body }: TextModule): string {
  return header ? `${header}: ${body}` : body
}

/**
 * The rows on the front of the card: three at most, of three fields at most. What finds no place stands in the details.
 * Built from keys, not values, since one class serves every pass of a template.
 */
export function templateInfo(card: Card) {
  const native = nativeField(card)
  const rows = frontRows(card).map((fields) => row(fields, native))
  return rows.length > 0 ? { cardTemplateOverride: { cardRowTemplateInfos: rows } } : undefined
}

function frontRows(card: Card): CardField[][] {
  const [header = [], primary = [], ...others] = frontGroups(card)
  // Google says from where to where by itself, above the rows.
  const shown = saysPlaces(card) ? primary.slice(2) : primary
  return [header, shown, ...others].flatMap(inThrees).slice(0, MAX_ROWS)
}

function saysPlaces(card: Card): boolean {
  const kind = kindOf(card)
  return kind === 'flight' || (kind === 'transit' && card.fields.primary.length >= 2)
}

function frontGroups(card: Card): CardField[][] {
  const { header, primary, secondary, auxiliary } = card.fields
  const title = titleField(card)
  return [header, primary.filter((field) => field !== title), secondary, auxiliary]
}

function inThrees(fields: CardField[]): CardField[][] {
  const count = Math.ceil(fields.length / MAX_ITEMS)
  return Array.from({ length: count }, (_, index) => fields.slice(index * MAX_ITEMS, (index + 1) * MAX_ITEMS))
}

function row(fields: CardField[], native: NativeField | undefined) {
  const [first, second, third] = fields.map((field) => ({
    firstValue: {
      fields: [{ fieldPath: native?.field === field ? native.path : `object.textModulesData['${field.key}']` }],
    },
  }))
  if (third) return { threeItems: { startItem: first, middleItem: second, endItem: third } }
  if (second) return { twoItems: { startItem: first, endItem: second } }
  return { oneItem: { item: first } }
}

// Values carry no language of their own, and Google wants one; readers see the text whatever it says.
const LANGUAGE = 'en'

/** A text as Google takes it. */
export function localized(value: string) {
  return { defaultValue: { language: LANGUAGE, value } }
}

const DATE_TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

/** With its offset kept, since Google shows the local time, and with the seconds that Google wants. */
export function dateTimeOf(text: string | null | undefined): string | undefined {
  const parts = DATE_TIME.exec(text ?? '')
  if (parts === null || Number.isNaN(Date.parse(parts[0]))) return undefined
  return `${parts[1]}${parts[2] ?? ':00'}${parts[3]}`
}

/** Whether a record says nothing: it has no key. */
export function isEmpty(record: object): boolean {
  return Object.keys(record).length === 0
}

/** The first text that shows something: Google refuses empty ones. */
export function firstText(...texts: (string | null | undefined)[]): string | undefined {
  return texts.find((text) => text !== null && text !== undefined && text.trim() !== '') ?? undefined
}

/** The organization's name, or whatever else the card calls itself; never empty. */
export function nameOf(card: Card): string {
  return firstText(card.organizationName, card.logoText, card.description) ?? 'Pass'
}

/** The image of the first of the roles that has one; undefined where none has or Google could not fetch it. */
export function image({ publicUrl }: GoogleIssuer, card: Card, ...roles: ImageRole[]) {
  const id = roles.map((role) => card.images[role]).find((candidate) => candidate !== undefined)
  if (id === undefined || !publicUrl.startsWith('https://')) return undefined
  return { sourceUri: { uri: `${publicUrl}/images/${id}` }, contentDescription: localized(nameOf(card)) }
}

/** The colour of the card; undefined leaves it to Google. */
export function backgroundOf(card: Card): string | undefined {
  return card.colors.background ?? undefined
}

/** The record without the keys that have no value. */
export function compact(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))
}

/**
 * The fields of Google's classes and objects, as its own interface description and reference name them. In the file a
 * field is a word: a type of the table, a plain type or the names of an enum (`FRONT|BACK`), then `[]` for a list (`[10]`
 * for one of so many items at most), then `!` where Google refuses a resource without it.
 */

export type GoogleRole = 'Class' | 'Object'

/** The type of a field without fields of its own, by what Google takes for it. */
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

/** A field of one of Google's resources. */
export interface Field {
  /** A plain type, the fields of a record, or the names of an enum. */
  type: PlainType | RecordType | readonly string[]
  /** How many items the list takes (infinitely many where no bound is known); undefined for what is no list. */
  maxItems: number | undefined
  isRequired: boolean
}

/** A type of Google's resources, with its fields by name. */
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

/** The field that holds what a text says in each language, where a record has one. */
export function localizedKeyOf(key: string): string {
  return `localized${key[0]!.toUpperCase()}${key.slice(1)}`
}

/** The fields of the records that a field holds; undefined where it holds none. */
export function recordTypeOf(field: Field | undefined): RecordType | undefined {
  return field && isRecordType(field.type) ? field.type : undefined
}

/** True of a field that has fields of its own. */
export function isRecordType(type: Field['type']): type is RecordType {
  return typeof type === 'object' && 'fields' in type
}
