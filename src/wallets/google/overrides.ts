import type { Issue } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import { type Field, type RecordType, recordTypeOf } from './fields.ts'
import type { GoogleResource } from './resource.ts'

/**
 * The keys that a definition must not set. They identify the resource, define its validity, or send notifications that
 * the service would not count.
 */
const reserved = new Set(['id', 'classId', 'state', 'messages', 'notifyPreference'])

/**
 * Merges overrides into a resource key by key; `null` removes a key. A placeholder always results in a text. If Google
 * requires a number or a boolean, the text is converted.
 */
export function applyOverrides(
  resource: GoogleResource,
  overrides: Record<string, unknown> | undefined,
  type: RecordType,
): GoogleResource {
  const allowed = Object.fromEntries(Object.entries(overrides ?? {}).filter(([key]) => !reserved.has(key)))
  return withoutEmpty({ ...merge(resource, allowed, type), id: resource.id })
}

/** For each list, the keys that hold the content of an item. */
const contents = new Map([
  ['textModulesData', ['body', 'localizedBody']],
  ['uris', ['uri']],
  ['columns', ['value', 'localizedValue']],
  ['labelValueRows', ['columns']],
])

const labels = ['header', 'localizedHeader', 'description', 'localizedDescription', 'label', 'localizedLabel']

/** Removes labels without a value, and barcodes without a message, which placeholders in overrides can cause. */
function withoutEmpty(resource: GoogleResource): GoogleResource {
  const { textModulesData, linksModuleData, infoModuleData, barcode } = resource
  const kept = new Map(Object.entries(resource))
  for (const [key, value] of Object.entries({ textModulesData, linksModuleData, infoModuleData })) {
    const filled = withoutEmptyItems(value, key)
    if (isEmptyValue(filled) || (isJsonObject(filled) && 'uris' in filled && isEmptyValue(filled.uris)))
      kept.delete(key)
    else kept.set(key, filled)
  }
  if (isJsonObject(barcode) && barcode.value === '') kept.delete('barcode')
  return { ...Object.fromEntries(kept), id: resource.id }
}

function withoutEmptyItems(value: unknown, name: string): unknown {
  if (isJsonObject(value)) {
    const kept = { ...value }
    for (const [key, inner] of Object.entries(value)) {
      if (typeof inner === 'object') kept[key] = withoutEmptyItems(inner, key)
    }
    return kept
  }
  if (!Array.isArray(value)) return value
  const keys = contents.get(name)
  const items = value.map((item) => withoutEmptyItems(item, ''))
  return keys ? items.filter((item) => !isJsonObject(item) || !hasBecomeEmpty(item, keys)) : items
}

/**
 * Returns the path in filled overrides of a path in their resource, whose lists lack the items that are empty. Without
 * it, an issue would be reported at the wrong item.
 */
export function pathInGoogleOverrides(overrides: unknown, [key, ...rest]: Issue['path'], list = ''): Issue['path'] {
  if (key === undefined) return []
  if (!Array.isArray(overrides)) {
    const inner = isJsonObject(overrides) ? overrides[key] : undefined
    return [key, ...pathInGoogleOverrides(inner, rest, String(key))]
  }
  const kept = [...overrides.keys()].filter((index) => !isEmptyValue(withoutEmptyItems([overrides[index]], list)))
  const index = kept[Number(key)] ?? key
  return [index, ...pathInGoogleOverrides(overrides[Number(index)], rest)]
}

/**
 * Whether the content of an item is empty because of its placeholders. False for an item that has neither a content key
 * nor a label: publishing reports this error in the definition.
 */
function hasBecomeEmpty(item: Record<string, unknown>, keys: string[]): boolean {
  if (keys.some((key) => hasContent(item[key]))) return false
  return [...keys, ...labels].some((key) => key in item)
}

function hasContent(value: unknown): boolean {
  const text = isJsonObject(value) && isJsonObject(value.defaultValue) ? value.defaultValue.value : value
  return typeof text === 'string' ? text.trim() !== '' : text !== undefined && !isEmptyValue(text)
}

function isEmptyValue(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0)
}

function merge(
  base: Record<string, unknown>,
  overrides: Record<string, unknown>,
  type: RecordType | undefined,
): Record<string, unknown> {
  const merged = { ...base }
  for (const [key, value] of Object.entries(overrides)) {
    // Skip this key, which JSON can contain: an assignment to it would replace the prototype of the object.
    if (key === '__proto__') continue
    const field = type?.fields.get(key)
    const current = merged[key]
    if (value === null) delete merged[key]
    else if (isJsonObject(value)) merged[key] = merge(isJsonObject(current) ? current : {}, value, recordTypeOf(field))
    else merged[key] = asTyped(value, field)
  }
  return merged
}

/** The types that are numbers in JSON. int64 is missing, because Google represents it as text. */
const numeric = new Set<unknown>(['double', 'int32', 'latitude', 'longitude'])
const NUMBER = /^-?\d{1,15}(\.\d{1,15})?$/

function asTyped(value: unknown, field: Field | undefined): unknown {
  if (Array.isArray(value)) {
    return value.map((item) => (isJsonObject(item) ? merge({}, item, recordTypeOf(field)) : asTyped(item, field)))
  }
  if (typeof value !== 'string') return value
  if (field?.type === 'boolean') return value === 'true' || (value === 'false' ? false : value)
  return numeric.has(field?.type) && NUMBER.test(value) ? Number(value) : value
}
