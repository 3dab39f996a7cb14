import { isJsonObject } from '../../core/json.ts'
import type { JsonObject } from './overrides/overrides.ts'

/** The texts of a pass in one language, by what pass.json says in the default one. */
export type Strings = Map<string, string>

/** Keys of pass.json whose texts a phone looks up in its language, wherever they stand. */
const translatedKeys = new Set([
  'organizationName',
  'description',
  'logoText',
  'label',
  'value',
  'attributedValue',
  'changeMessage',
  'altText',
  'relevantText',
])

/**
 * What differs between pass.json in the default language and in another. A phone knows one translation of a text: where values
 * gave it two, the first stands.
 */
export function stringsOf(original: JsonObject, translated: JsonObject): Strings {
  const strings: Strings = new Map()
  collect(original, translated, strings)
  return new Map([...strings].filter(([text, translation]) => text !== translation))
}

function collect(original: unknown, translated: unknown, strings: Strings): void {
  if (Array.isArray(original)) {
    const others = Array.isArray(translated) ? translated : []
    for (const [index, item] of original.entries()) collect(item, counterpart(item, others, index), strings)
  } else if (isJsonObject(original)) {
    const other = isJsonObject(translated) ? translated : {}
    for (const [key, text] of Object.entries(original)) {
      const translation = other[key]
      if (!translatedKeys.has(key)) collect(text, translation, strings)
      else if (typeof text === 'string' && typeof translation === 'string' && !strings.has(text)) {
        strings.set(text, translation)
      }
    }
  }
}

/** A field that says nothing in one language is not there in it: others are found by their keys. */
function counterpart(item: unknown, others: unknown[], index: number): unknown {
  const key = isJsonObject(item) ? item.key : undefined
  return key === undefined ? others[index] : others.find((other) => isJsonObject(other) && other.key === key)
}

/** A strings file as phones read it, of what a language says otherwise; UTF-8. */
export function stringsFile(strings: Strings): Buffer {
  return Buffer.from([...strings].map(([text, translation]) => `${quote(text)} = ${quote(translation)};\n`).join(''))
}

function quote(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('\r', '\\r')}"`
}
