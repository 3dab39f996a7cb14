import type { GoogleKind, ImageRole } from '../../core/contract/schemas/definition.ts'
import type { Card, CardField } from '../../core/rules/display/card.ts'
import { MAX_GOOGLE_MODULES } from '../../core/rules/display/google-view.ts'
import { type FieldWord, parseFieldWord } from '../field-word.ts'
import table from './field-table.json' with { type: 'json' }
import { isShownByItself, type NativeField, nativeField } from './native-values.ts'
import { type GoogleIssuer, kindOf } from './resource.ts'

const MAX_ROWS = 3
const MAX_ITEMS = 3

/** Returns the field that a generic pass shows as its large header. Only `google.rows` can repeat this field. */
export function titleField(card: Card): CardField | undefined {
  return kindOf(card) === 'generic' ? card.fields.primary[0] : undefined
}

interface TextModule {
  id: string
  header?: string
  body: string
}

/**
 * Returns the fields as text modules, in the order of the card, followed by the links that do not fit into Google's
 * list of links. If there are too many modules, the last one combines the remaining fields and links.
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
 * Returns the layout of the front: at most three rows with at most three fields each. The layout is part of the class,
 * which all passes of a version share. Therefore, it refers to fields by key.
 */
export function templateInfo(card: Card) {
  const native = nativeField(card)
  const rows = frontRows(card).map((fields) => row(fields, native))
  return rows.length > 0 ? { cardTemplateOverride: { cardRowTemplateInfos: rows } } : undefined
}

function frontRows(card: Card): CardField[][] {
  const { rows } = card.google
  if (!rows) return rowGroups(card).flatMap(inThrees).slice(0, MAX_ROWS)
  const fields = new Map([...frontGroups(card), card.fields.back].flat().map((field) => [field.key, field]))
  return rows.map((keys) => keys.flatMap((key) => fields.get(key) ?? [])).filter((row) => row.length > 0)
}

/** Returns the fields on the front of the design that do not fit on Google's front. */
export function hiddenFields(card: Card): CardField[] {
  if (card.google.rows) return []
  const shown = new Set(frontRows(card).flat())
  return rowGroups(card)
    .flat()
    .filter((field) => !shown.has(field) && !isShownByItself(card, field))
}

function rowGroups(card: Card): CardField[][] {
  const [header = [], primary = [], ...others] = frontGroups(card)
  // Omit origin and destination, which Google shows above the rows.
  return [header, showsPlaces(card) ? primary.slice(2) : primary, ...others]
}

function showsPlaces(card: Card): boolean {
  const kind = kindOf(card)
  return kind === 'flight' || (kind === 'transit' && card.fields.primary.length >= 2)
}

function frontGroups(card: Card): CardField[][] {
  const { header, primary, secondary, auxiliary } = card.fields
  const title = titleField(card)
  const isShownTwice = card.google.rows?.some((keys) => keys.includes(title?.key ?? ''))
  return [header, isShownTwice ? primary : primary.filter((field) => field !== title), secondary, auxiliary]
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

// Google requires a language for each text, but shows the text regardless of it. The real language is unknown.
const LANGUAGE = 'en'

export function localized(value: string) {
  return { defaultValue: { language: LANGUAGE, value } }
}

const DATE_TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

/**
 * Adds missing seconds to a date-time with an offset. Google requires the seconds, and needs the offset to show the
 * local time. Returns `undefined` if the text is not a date-time with an offset.
 */
export function dateTimeOf(text: string | null | undefined): string | undefined {
  const parts = DATE_TIME.exec(text ?? '')
  if (parts === null || Number.isNaN(Date.parse(parts[0]))) return undefined
  return `${parts[1]}${parts[2] ?? ':00'}${parts[3]}`
}

export function isEmpty(record: object): boolean {
  return Object.keys(record).length === 0
}

/** Returns the first text that is not blank, because Google rejects empty texts. */
export function firstText(...texts: (string | null | undefined)[]): string | undefined {
  return texts.find((text) => text !== null && text !== undefined && text.trim() !== '') ?? undefined
}

export function nameOf(card: Card): string {
  return firstText(card.organizationName, card.logoText, card.description) ?? 'Pass'
}

export function image({ publicUrl }: GoogleIssuer, card: Card, ...roles: ImageRole[]) {
  const id = roles.map((role) => card.images[role]).find((candidate) => candidate !== undefined)
  if (id === undefined || !publicUrl.startsWith('https://')) return undefined
  return { sourceUri: { uri: `${publicUrl}/images/${id}` }, contentDescription: localized(nameOf(card)) }
}

export function backgroundOf(card: Card): string | undefined {
  return card.colors.background ?? undefined
}

export function compact(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))
}

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

export interface Field extends Omit<FieldWord, 'type'> {
  type: PlainType | RecordType | readonly string[]
}

export interface RecordType {
  readonly name: string
  readonly fields: ReadonlyMap<string, Field>
}

const types = new Map<string, { name: string; fields: Map<string, Field> }>()
for (const name of Object.keys(table.types)) types.set(name, { name, fields: new Map() })
for (const [name, fields] of Object.entries<Record<string, string>>(table.types)) {
  for (const [field, text] of Object.entries(fields)) {
    const word = parseFieldWord(text)
    const type = typeof word.type === 'string' ? (types.get(word.type) ?? (word.type as PlainType)) : word.type
    types.get(name)!.fields.set(field, { ...word, type })
  }
}

export function typeOf(kind: GoogleKind, role: GoogleRole): RecordType {
  return types.get(`${kind[0]!.toUpperCase()}${kind.slice(1)}${role}`)!
}

export function localizedKeyOf(key: string): string {
  return `localized${key[0]!.toUpperCase()}${key.slice(1)}`
}

export function recordTypeOf(field: Field | undefined): RecordType | undefined {
  return field && isRecordType(field.type) ? field.type : undefined
}

export function isRecordType(type: Field['type']): type is RecordType {
  return typeof type === 'object' && 'fields' in type
}
