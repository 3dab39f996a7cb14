import { isJsonObject } from '../../core/json.ts'
import { translatedKeys } from '../../core/rules/display/apple-look.ts'
import type { JsonObject } from './overrides/overrides.ts'

/** The texts of a pass in one language. The keys are the texts of the default language in pass.json. */
export type Strings = Map<string, string>

/**
 * Two places of pass.json whose default texts are equal because of the values of the pass, but whose translations
 * differ.
 */
export interface AmbiguousText {
  /** The place that shows the translation of the text at `other`, which is wrong here. */
  place: string
  other: string
}

export interface TranslatedTexts {
  strings: Strings
  ambiguous?: AmbiguousText
}

/**
 * Returns the translations of the texts in pass.json. Phones support only one translation per text. If the values of
 * the pass cause a text to have two translations, the first one is used.
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

type Path = readonly (string | number)[]

/** Visits each text that phones translate. The visitor must not keep the path, because this function changes it. */
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

/** Returns the first place with a text. Called only for an ambiguous text, which is rare. */
function firstPlaceOf(wanted: string, original: JsonObject, translated: JsonObject): string {
  let place: string | undefined
  eachText(original, translated, (text, _, path) => {
    if (text === wanted) place ??= path.join('.')
  })
  return place!
}

/**
 * Finds the translation of an item of a list by its key. Positions can differ, because a field that is empty in a
 * language is missing there.
 */
function counterpart(item: unknown, others: unknown[], index: number): unknown {
  const key = isJsonObject(item) ? item.key : undefined
  const isIt = (other: unknown) => isJsonObject(other) && other.key === key
  return key === undefined || isIt(others[index]) ? others[index] : others.find(isIt)
}

export function stringsFile(strings: Strings): Buffer {
  return Buffer.from([...strings].map(([text, translation]) => `${quote(text)} = ${quote(translation)};\n`).join(''))
}

function quote(text: string): string {
  if (!/[\\"\n\r]/.test(text)) return `"${text}"`
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('\r', '\\r')}"`
}
