import { z } from 'zod'
import { isJsonObject } from '../../../core/json.ts'
import { parseColor, toRgb } from '../../../core/rules/display/colors.ts'
import { formatPatterns } from '../../../core/rules/template/variables.ts'
import { Color, Field, isNumberField, isW3cDate, Overrides, RelevantDate } from './pass-json-schema.ts'

export type JsonObject = Record<string, unknown>

/**
 * Merges overrides into an object. If a value of the base is an object, an override that is an object is merged into
 * it, and any other override is ignored. If a value of the base is missing or is not an object, its override replaces
 * it, or removes it if the override is `null`.
 */
export function mergeOver(base: JsonObject, overrides: JsonObject): JsonObject {
  if (Object.keys(overrides).length === 0) return base
  // Use a Map, because assigning the key `__proto__` to an object would replace its prototype.
  const merged = new Map(Object.entries(base))
  for (const [key, value] of Object.entries(overrides)) {
    const below = merged.get(key)
    if (isJsonObject(below)) {
      if (isJsonObject(value)) merged.set(key, mergeOver(below, value))
    } else if (value === null) merged.delete(key)
    else merged.set(key, wellFormed(value))
  }
  return Object.fromEntries(merged)
}

function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(wellFormed)
  return isJsonObject(value) ? mergeOver({}, value) : value
}

/**
 * Converts the filled overrides of a definition to the types of pass.json. Texts become numbers or booleans, colors
 * become `rgb(…)`, and each relevant date gets both of Apple's keys (`date` and `relevantDate`). Empty texts are
 * omitted if Apple accepts no empty text there (dates, colors, URLs). Values that cannot be converted stay unchanged.
 */
export function toTypes(overrides: JsonObject): JsonObject {
  return convert(overrides, Overrides) as JsonObject
}

function convert(value: unknown, type: z.ZodType): unknown {
  if (type instanceof z.ZodOptional) return convert(value, type.unwrap() as z.ZodType)
  if (typeof value === 'string') return convertText(value, type)
  if (Array.isArray(value)) {
    if (!(type instanceof z.ZodArray)) return value
    return value.map((item) => convert(item, type.element as z.ZodType)).filter((item) => item !== undefined)
  }
  if (value === null || typeof value !== 'object' || !(type instanceof z.ZodObject)) return value
  const shape: Record<string, z.ZodType> = type.shape
  const converted = Object.entries(value)
    .map(([key, item]) => [key, Object.hasOwn(shape, key) ? convert(item, shape[key]!) : item] as const)
    .filter(([, item]) => item !== undefined)
  return finish(Object.fromEntries(converted), type)
}

function finish(object: JsonObject, type: z.ZodType): JsonObject {
  if (type === Field && isNumberField(object) && typeof object.value === 'string') {
    return { ...object, value: toNumber(object.value) }
  }
  if (type === RelevantDate) {
    const date = object.date ?? object.relevantDate
    // Do not copy an invalid date to the other key. Otherwise, the date would be reported twice.
    return !isW3cDate(date) ? object : { ...object, date, relevantDate: object.relevantDate ?? date }
  }
  return object
}

function convertText(value: string, type: z.ZodType): unknown {
  const isBare = type instanceof z.ZodString && (type.def.checks ?? []).length === 0
  if (value === '' && (type instanceof z.ZodNumber || type instanceof z.ZodBoolean || !isBare)) {
    return type instanceof z.ZodUnion ? value : undefined
  }
  if (type instanceof z.ZodNumber) return toNumber(value)
  if (type instanceof z.ZodBoolean && (value === 'true' || value === 'false')) return value === 'true'
  const color = type === Color && value.startsWith('#') ? parseColor(value) : null
  return color === null ? value : toRgb(color)
}

const NUMBER = new RegExp(formatPatterns.number.pattern)

/**
 * Converts a text to a number, except for an integer that a double cannot represent exactly. Texts that are not
 * converted are rejected later by the schema.
 */
function toNumber(text: string): string | number {
  const isExact = NUMBER.test(text) && (text.includes('.') || Number.isSafeInteger(Number(text)))
  return isExact ? Number(text) : text
}
