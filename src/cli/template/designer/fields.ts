import type { DefinitionInput, FieldGroup } from '../../../core/contract/schemas/definition.ts'
import { isJsonObject } from '../../../core/json.ts'
import { readAlignment } from '../../../core/rules/display/apple-value.ts'
import { MAX_TEXT_BYTES } from '../../../core/rules/template/rendered-size.ts'
import type { JsonObject, Report } from './report.ts'
import { DEFAULT_LANGUAGE, type Texts } from './texts.ts'
import { readValue } from './values.ts'
import type { Variables } from './variables.ts'

export type DesignField = NonNullable<NonNullable<NonNullable<DefinitionInput['design']['fields']>['header']>[number]>

export interface SourceField {
  /** The path in pass.json, such as `generic.backFields.0`. */
  path: string
  group: FieldGroup
  source: JsonObject
}

export interface FieldContext {
  texts: Texts
  variables: Variables
  report: Report
  /** The keys of the fields that were already read. */
  keys: Set<string>
  /** The fields that show a variable, by the value of the field in pass.json. */
  fieldsByValue: Map<string, { key: string; placeholder: string }[]>
}

/** Returns the valid fields of a group, each with its path. Reports any other item. */
export function listFields(style: JsonObject, name: string, group: string, { unmapped }: Report) {
  const list = style[group]
  if (list === undefined || list === null) return []
  if (!Array.isArray(list)) {
    unmapped.push({ path: `${name}.${group}`, reason: 'Is not a list' })
    return []
  }
  return list.flatMap((source: unknown, index) => {
    const path = `${name}.${group}.${index}`
    const isField = isJsonObject(source) && ['string', 'number'].includes(typeof source.value)
    if (isField && Buffer.byteLength(String(source.value)) <= MAX_TEXT_BYTES) return [{ path, source }]
    unmapped.push({ path, reason: isField ? 'Has a value of more than 8 KiB' : 'Is not a field with a value' })
    return []
  })
}

export interface ReadGroup {
  fields: DesignField[]
  /** The same fields in Apple's form, if `inApple` is set or if the design cannot express all their keys. */
  override: JsonObject[] | undefined
  lost: string[]
}

/**
 * Reads the fields of a group.
 * @param inApple whether fields of `apple` can show the same variables. If so, the values of these variables must have
 * Apple's form
 */
export function readGroup(sources: readonly SourceField[], context: FieldContext, inApple = false): ReadGroup {
  const lostIn = (isApple: boolean) => [
    ...new Set(sources.flatMap(({ source, group }) => lostKeys(source, group, context, isApple))),
  ]
  const isKept = inApple || lostIn(false).length > 0
  const lost = lostIn(isKept)
  const read = sources.map((field) => readField(field, context, isKept))
  for (const { path, source } of isKept ? sources : []) {
    if (source.numberStyle !== 'PKNumberStylePercent') continue
    context.report.assumed.push({ path, reason: 'The variable is a fraction, such as 0.15 for 15 %' })
  }
  return {
    fields: read.map(({ field }) => field),
    override: isKept ? read.map(({ apple }) => apple) : undefined,
    lost,
  }
}

function readField({ source, group }: SourceField, context: FieldContext, isKept: boolean) {
  const { texts, fieldsByValue } = context
  const key = freeKey(String(source.key ?? group), context.keys)
  const label = typeof source.label === 'string' ? source.label : undefined
  const { lost: _, text, format, ...type } = readValue(source, isKept)
  const isText = type.as === undefined && typeof source.value === 'string'
  const isConstant = isText && texts.isTranslated(text)
  const value = isConstant
    ? texts.of(text)
    : context.variables.add({
        key,
        ...(label !== undefined && { label: texts.inDefault(label) }),
        format,
        ...(text !== '' && { example: text }),
        // Make the text of a back field, such as terms, the default, because it is usually the same for all holders.
        ...(group === 'back' && isText && text !== '' && { default: text }),
      })
  if (typeof value === 'string')
    fieldsByValue.set(text, [...(fieldsByValue.get(text) ?? []), { key, placeholder: value }])
  const align = alignOf(source, group)
  const changeMessage = messageOf(source)
  const field: DesignField = {
    key,
    ...(label !== undefined && { label: texts.of(label) }),
    value,
    ...type,
    ...(align && { align }),
    ...(changeMessage !== undefined && { changeMessage: texts.of(changeMessage) }),
  }
  return { field, apple: appleField(source, { key, value: isConstant ? texts.inDefault(text) : value }, texts) }
}

/** Returns a field for `apple`, with the values of some keys changed. Texts are in the default language. */
export function appleField(source: JsonObject, changed: JsonObject, texts: Texts): JsonObject {
  const { _id, id, textAlignment, ...kept } = source
  const shown = Object.entries({ ...kept, ...changed }).map(([key, value]) => {
    const isText = (key === 'label' || key === 'changeMessage') && typeof value === 'string'
    return [key, isText ? texts.inDefault(value) : value] as const
  })
  return {
    ...Object.fromEntries(shown),
    ...(textAlignment !== NATURAL && textAlignment !== undefined && { textAlignment }),
  }
}

/** Keys of a field in pass.json that a design can express, or that have no effect. */
const ownKeys = new Set([
  '_id',
  'id',
  'key',
  'label',
  'value',
  'changeMessage',
  'textAlignment',
  'dateStyle',
  'timeStyle',
  'ignoresTimeZone',
  'isRelative',
  'numberStyle',
  'currencyCode',
])

function lostKeys(source: JsonObject, group: FieldGroup, { texts }: FieldContext, inApple: boolean): string[] {
  const others = Object.entries(source).flatMap(([key, value]) => {
    const isEmpty = value === null || (Array.isArray(value) && value.length === 0)
    return ownKeys.has(key) || isEmpty ? [] : [key]
  })
  const { lost } = readValue(source, inApple)
  const isAligned = source.textAlignment !== undefined && source.textAlignment !== NATURAL
  return [
    ...others,
    ...(texts.isTranslated(String(source.value)) ? [] : lost),
    ...(isAligned && alignOf(source, group) === undefined ? ['textAlignment'] : []),
    ...(typeof source.changeMessage === 'string' && messageOf(source) === undefined ? ['changeMessage'] : []),
  ]
}

const NATURAL = 'PKTextAlignmentNatural'

/** Returns the alignment of a field. Primary and back fields have none, because wallets do not align them. */
function alignOf({ textAlignment }: JsonObject, group: FieldGroup): DesignField['align'] {
  if (group === 'primary' || group === 'back') return undefined
  return readAlignment(textAlignment, { language: DEFAULT_LANGUAGE })
}

/**
 * Returns the change message if it contains `%@`, the placeholder of the new value. Phones announce no change without
 * it.
 */
function messageOf({ changeMessage }: JsonObject): string | undefined {
  return typeof changeMessage === 'string' && changeMessage.includes('%@') ? changeMessage : undefined
}

function freeKey(wish: string, taken: Set<string>): string {
  const plain = wish.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 60) || 'field'
  let key = plain
  for (let n = 2; taken.has(key); n += 1) key = `${plain}-${n}`
  taken.add(key)
  return key
}
