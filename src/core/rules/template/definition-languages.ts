import type { Definition, WrittenDefinition } from '../../contract/schemas/definition.ts'
import type { Languages, Translations } from '../../contract/schemas/language-tags.ts'
import type { Issue } from '../../errors.ts'
import { imagesIn, isByLanguage } from './image-choice.ts'
import { placeholdersIn } from './placeholder.ts'

/** The assumed language of the texts of a definition without `languages`. */
export const UNSAID_LANGUAGE = 'en'

/** A text of a definition: the same in each language, or one per language. */
export type WrittenText = string | Translations

type Path = (string | number)[]

/** The language and the written definition of each definition that `inLanguage` made. */
const origins = new WeakMap<object, { written: WrittenDefinition; language: string }>()

/** The definitions that `inLanguage` made, by written definition and language. */
const known = new WeakMap<WrittenDefinition, Map<string, Definition>>()

/** Returns all languages of a definition, the default first, or an empty list if the definition names no languages. */
export function languagesOf({ languages }: Pick<WrittenDefinition, 'languages'>): string[] {
  return languages ? [...new Set([languages.default, ...languages.others])] : []
}

/**
 * Returns a definition with all texts in one language, by default the definition's default language. Texts without this
 * language use the default language. A definition without languages or translations is returned unchanged. Cached.
 */
export function inLanguage(definition: Definition | WrittenDefinition, language?: string): Definition {
  const written = writtenOf(definition)
  if (!written.languages && !hasTranslations(written)) return written as Definition
  const wanted = language ?? written.languages?.default ?? UNSAID_LANGUAGE
  const byLanguage = known.get(written) ?? new Map<string, Definition>()
  known.set(written, byLanguage)
  const made = byLanguage.get(wanted) ?? makeIn(written, (text) => textIn(text, wanted, written.languages), wanted)
  byLanguage.set(wanted, made)
  origins.set(made, { written, language: wanted })
  return made
}

/** Returns the written definition from which a definition in one language was made, or the definition itself. */
export function writtenOf(definition: Definition | WrittenDefinition): WrittenDefinition {
  return origins.get(definition)?.written ?? (definition as WrittenDefinition)
}

/** Returns the language in which `inLanguage` made a definition, or `undefined` for any other definition. */
export function languageOf(definition: Definition): string | undefined {
  return origins.get(definition)?.language
}

export function otherLanguages(definition: Definition): Definition[] {
  const written = writtenOf(definition)
  const language = languageOf(definition)
  return languagesOf(written)
    .filter((other) => other !== language)
    .map((other) => inLanguage(written, other))
}

/** Returns a text in a language, else in the default language, else in English, else the first translation. */
export function textIn(text: WrittenText, language: string, languages?: Pick<Languages, 'default'>): string {
  if (typeof text === 'string') return text
  // Fall back to any language, because a draft or the text of a broadcast can lack the default language.
  return text[language] ?? text[languages?.default ?? ''] ?? text[UNSAID_LANGUAGE] ?? Object.values(text)[0] ?? ''
}

function makeIn(written: WrittenDefinition, choose: (text: WrittenText) => string, language: string): Definition {
  const made = mapTexts(written, choose)
  return { ...made, design: { ...made.design, images: imagesIn(written, language) } }
}

function hasTranslations(written: WrittenDefinition): boolean {
  return [...listTranslated(written)].length > 0
}

function* listTranslated(written: WrittenDefinition): Generator<Translated> {
  for (const { text, path } of listTexts(written)) {
    if (typeof text !== 'string') yield { what: 'text', translations: text, path }
  }
  for (const [role, image] of Object.entries(written.design.images)) {
    if (isByLanguage(image)) yield { what: 'image', translations: image, path: ['design', 'images', role] }
  }
}

type Places = 'text' | { [key: string]: Places }

/** The paths of the translatable texts, in the order of `listTexts`. A star matches any item or key. */
const places: Places = {
  design: {
    fields: { '*': { '*': { label: 'text', value: 'text', changeMessage: 'text' } } },
    organizationName: 'text',
    description: 'text',
    logoText: 'text',
    barcode: { altText: 'text' },
    locations: { '*': { relevantText: 'text' } },
    links: { '*': { label: 'text' } },
  },
  event: { name: 'text', venue: { name: 'text', address: 'text' } },
  trip: { from: { name: 'text', city: 'text' }, to: { name: 'text', city: 'text' } },
  door: { notice: 'text' },
  balances: { '*': { label: 'text' } },
}

function mapTexts(written: WrittenDefinition, change: (text: WrittenText, path: Path) => string): Definition {
  const mapAt = (value: unknown, at: Places, path: Path): unknown => {
    if (value === undefined || value === null) return value
    if (at === 'text') return change(value as WrittenText, path)
    const any = at['*']
    if (Array.isArray(value)) return value.map((item, index) => mapAt(item, any!, [...path, index]))
    const mapped: Record<string, unknown> = { ...value }
    for (const key of Object.keys(any ? mapped : at)) {
      if (key in mapped) mapped[key] = mapAt(mapped[key], any ?? at[key]!, [...path, key])
    }
    return mapped
  }
  return mapAt(written, places, []) as Definition
}

export function listTexts(written: WrittenDefinition): { text: WrittenText; path: Path }[] {
  return splitTexts(written).texts
}

/** Returns the translatable texts of a definition, and the definition with these texts empty. */
export function splitTexts(written: WrittenDefinition): {
  texts: { text: WrittenText; path: Path }[]
  rest: Definition
} {
  const texts: { text: WrittenText; path: Path }[] = []
  const rest = mapTexts(written, (text, path) => {
    texts.push({ text, path })
    return ''
  })
  return { texts, rest }
}

/** Returns a definition in a language, with only the texts that differ by language. All other texts are empty. */
export function translatedPart(written: WrittenDefinition, language: string): Definition {
  return makeIn(
    written,
    (text) => (typeof text === 'string' ? '' : textIn(text, language, written.languages)),
    language,
  )
}

/** A missing translation is no issue, only a warning. */
export function* checkLanguages(written: WrittenDefinition): Generator<Issue> {
  const others = written.languages?.others ?? []
  for (const [index, language] of others.entries()) {
    if (language === written.languages!.default || others.indexOf(language) < index)
      yield { path: ['languages', 'others', index], message: `Duplicate language ${language}` }
  }
  yield* checkTranslations(listTranslated(written), written.languages)
  yield* checkKeysOfTexts(written)
}

interface Translated {
  what: 'text' | 'image'
  translations: Record<string, unknown>
  path: Path
}

/** Checks that translations use only languages of the definition and include its default language. */
export function* checkTranslations(
  translated: Iterable<Translated>,
  languages: WrittenDefinition['languages'],
): Generator<Issue> {
  const known = languagesOf({ languages })
  for (const { what, translations, path } of translated) {
    const unknown = Object.keys(translations).filter((language) => !known.includes(language))
    for (const language of unknown) {
      const message =
        known.length === 0
          ? `Set languages, such as { "default": "${language}" }, if ${what === 'text' ? 'a text' : 'an image'} is ` +
            'in several languages'
          : `The languages of the definition are ${known.join(', ')}: add ${language}, or remove it here`
      yield { path: [...path, language], message }
    }
    if (languages && translations[languages.default] === undefined)
      yield {
        path,
        message: `Missing the default language ${languages.default}, which is the fallback if a language has no ${what}`,
      }
  }
}

/**
 * Checks that equal texts have equal translations. An iPhone looks up a translation by the text in the default
 * language, so a text such as "Gate" cannot have two translations on one pass.
 */
function* checkKeysOfTexts(written: WrittenDefinition): Generator<Issue> {
  if (!written.languages) return
  const seen = new Map<string, { path: Path; text: string }>()
  for (const { text, path } of listTexts(written)) {
    const original = textIn(text, written.languages.default, written.languages)
    if (isNeverOnIphones(path) || original.trim() === '' || placeholdersIn(original).length > 0) continue
    for (const language of written.languages.others) {
      const translated = textIn(text, language, written.languages)
      const key = JSON.stringify([language, original])
      const other = seen.get(key)
      if (!other) seen.set(key, { path, text: translated })
      else if (other.text !== translated) {
        yield {
          path,
          message:
            `${JSON.stringify(original)} is ${JSON.stringify(translated)} in ${language} here and ` +
            `${JSON.stringify(other.text)} at ${other.path.join('.')}, but iPhones support one translation per text: ` +
            'change one of the texts in the default language, or use the same translation',
        }
        break
      }
    }
  }
}

/** Whether iPhones never show a text: the notice at the door, an address, or the label of a balance. */
function isNeverOnIphones(path: Path): boolean {
  return path[0] === 'door' || path[0] === 'balances' || path.at(-1) === 'address'
}

/** Yields each missing translation of a text or an image that has other translations. */
export function* missingTranslations(
  written: WrittenDefinition,
): Generator<{ what: 'text' | 'image'; path: Path; language: string }> {
  const languages = languagesOf(written)
  for (const { what, translations, path } of listTranslated(written)) {
    for (const language of languages) if (translations[language] === undefined) yield { what, path, language }
  }
}
