import { isJsonObject } from '../../json.ts'
import { nearestLanguage } from './language-match.ts'

/**
 * A resource of Google as a phone of a language reads it: each text that is there in several languages is one text, the
 * nearest to that language or else the default, and goes before the text in one language that stands beside it.
 */
export function googleTexts(resource: unknown, language: string): unknown {
  if (Array.isArray(resource)) return resource.map((item) => googleTexts(item, language))
  if (!isJsonObject(resource)) return resource
  if (isJsonObject(resource.defaultValue)) return textIn(resource, resource.defaultValue, language)
  const read = new Map(Object.entries(resource).map(([key, value]) => [key, googleTexts(value, language)]))
  for (const [key, text] of [...read]) {
    if (!key.startsWith(LOCALIZED) || typeof text !== 'string') continue
    const name = key.slice(LOCALIZED.length)
    read.set(`${name.charAt(0).toLowerCase()}${name.slice(1)}`, text)
  }
  return Object.fromEntries(read)
}

const LOCALIZED = 'localized'

type Texts = Record<string, unknown>

function textIn({ translatedValues }: Texts, original: Texts, language: string): unknown {
  const translations = (Array.isArray(translatedValues) ? translatedValues : []).filter(isJsonObject)
  const texts = new Map([original, ...translations].map((text) => [String(text.language), text.value] as const))
  const found = nearestLanguage([language], [...texts.keys()])
  return found ? texts.get(found.language) : original.value
}
