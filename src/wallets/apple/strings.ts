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
  // Of semantic tags, which posters and suggestions show.
  'eventName',
  'venueName',
  'departureAirportName',
  'destinationAirportName',
  'departureStationName',
  'destinationStationName',
  'departureLocationDescription',
  'destinationLocationDescription',
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
  const found = new Map<string, string>()
  let ambiguous: AmbiguousText | undefined
  eachText(original, translated, (text, translation, path) => {
    const first = found.get(text)
    if (first === undefined) found.set(text, translation)
    else if (first !== translation) {
      ambiguous ??= { place: path.join('.'), other: firstPlaceOf(text, original, translated) }
    }
  })
  for (const [text, translation] of found) if (text === translation) found.delete(text)
  return { strings: found, ...(ambiguous && { ambiguous }) }
}

/** Where a text stands: keys and numbers, and no value of a pass. */
type Path = readonly (string | number)[]

/** Visits each text that a phone looks up, with its translation. The path is one array, which the visitor does not keep. */
function eachText(
  original: unknown,
  translated: unknown,
  visit: (text: string, translation: string, path: Path) => void,
  path: (string | number)[] = [],
): void {
  if (Array.isArray(original)) {
    const others = Array.isArray(translated) ? translated : []
    for (const [index, item] of original.entries()) {
      path.push(index)
      eachText(item, counterpart(item, others, index), visit, path)
      path.pop()
    }
  } else if (isJsonObject(original)) {
    const other = isJsonObject(translated) ? translated : {}
    for (const key of Object.keys(original)) {
      const text = original[key]
      const translation = other[key]
      path.push(key)
      if (!translatedKeys.has(key)) eachText(text, translation, visit, path)
      else if (typeof text === 'string' && typeof translation === 'string') visit(text, translation, path)
      path.pop()
    }
  }
}

/** Looked for only where it is told: hardly any pass has such a text. */
function firstPlaceOf(wanted: string, original: JsonObject, translated: JsonObject): string {
  let place: string | undefined
  eachText(original, translated, (text, _, path) => {
    if (text === wanted) place ??= path.join('.')
  })
  return place!
}

/** A field that says nothing in one language is not there in it: others are found by their keys. */
function counterpart(item: unknown, others: unknown[], index: number): unknown {
  const key = isJsonObject(item) ? item.key : undefined
  const isIt = (other: unknown) => isJsonObject(other) && other.key === key
  return key === undefined || isIt(others[index]) ? others[index] : others.find(isIt)
}

/** A strings file as phones read it, of what a language says otherwise; UTF-8. */
export function stringsFile(strings: Strings): Buffer {
  return Buffer.from([...strings].map(([text, translation]) => `${quote(text)} = ${quote(translation)};\n`).join(''))
}

function quote(text: string): string {
  if (!/[\\"\n\r]/.test(text)) return `"${text}"`
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('\r', '\\r')}"`
}
