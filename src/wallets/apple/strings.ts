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

/** Two places of pass.json where values of a pass made one default text of two with different translations. */
export interface AmbiguousText {
  /** Where the text is read in the translation of the other. */
  place: string
  other: string
}

/** What a language says otherwise, and the first text of which it could not. */
export interface TranslatedTexts {
  strings: Strings
  ambiguous?: AmbiguousText
}

/**
 * What differs between pass.json in the default language and in another. A phone knows one translation of a text: where values
 * gave it two, the first stands.
 */
export function stringsOf(original: JsonObject, translated: JsonObject): TranslatedTexts {
  const found = new Map<string, { translation: string; place: string }>()
  let ambiguous: AmbiguousText | undefined
  for (const { text, translation, place } of pairsOf(original, translated)) {
    const first = found.get(text)
    if (!first) found.set(text, { translation, place })
    else if (first.translation !== translation) ambiguous ??= { place, other: first.place }
  }
  const strings = new Map(
    [...found].flatMap(([text, { translation }]) => (text === translation ? [] : [[text, translation] as const])),
  )
  return { strings, ...(ambiguous && { ambiguous }) }
}

interface TextPair {
  text: string
  translation: string
  place: string
}

/** Each text that a phone looks up, with its translation. Places are made of keys and numbers, and of no value of a pass. */
function* pairsOf(original: unknown, translated: unknown, place = ''): Generator<TextPair> {
  if (Array.isArray(original)) {
    const others = Array.isArray(translated) ? translated : []
    for (const [index, item] of original.entries())
      yield* pairsOf(item, counterpart(item, others, index), `${place}.${index}`)
  } else if (isJsonObject(original)) {
    const other = isJsonObject(translated) ? translated : {}
    for (const [key, text] of Object.entries(original)) {
      const translation = other[key]
      const inner = place === '' ? key : `${place}.${key}`
      if (!translatedKeys.has(key)) yield* pairsOf(text, translation, inner)
      else if (typeof text === 'string' && typeof translation === 'string') yield { text, translation, place: inner }
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
