import type { MessageCreate } from '../../contract/messages/notifications.ts'
import type { WrittenDefinition } from '../../contract/schemas/definition.ts'
import type { Languages } from '../../contract/schemas/language-tags.ts'
import type { Issue } from '../../errors.ts'
import { languagesOf, textIn, UNSAID_LANGUAGE, type WrittenText } from '../template/definition-languages.ts'

/**
 * Checks the languages of a message (decisions/0013).
 * @param declared the languages of each version that has languages and whose passes can receive the message
 */
export function* checkMessageLanguages(
  { body, options }: Pick<MessageCreate, 'body' | 'options'>,
  declared: readonly Languages[],
): Generator<Issue> {
  const known = new Set(declared.flatMap((languages) => languagesOf({ languages })))
  const defaults = new Set(declared.map((languages) => languages.default))
  const header = options.google?.header
  for (const [text, path] of [
    [body, ['body']],
    [header, ['options', 'google', 'header']],
  ] as const) {
    if (typeof text !== 'object') continue
    if (known.size === 0) {
      const message =
        'Must be a single text: the definition names no languages. Publish a version with languages, or send a ' +
        'single text'
      yield { path: [...path], message }
      continue
    }
    for (const language of Object.keys(text)) {
      if (known.has(language)) continue
      const message =
        `The languages of the definition are ${[...known].join(', ')}: remove ${language}, or publish a version ` +
        'with it'
      yield { path: [...path, language], message }
    }
    for (const language of defaults) {
      if (text[language] !== undefined) continue
      yield {
        path: [...path],
        message: `Missing the default language ${language}, which is the fallback for other languages`,
      }
    }
  }
}

export function isByLanguage({ body, options }: Pick<MessageCreate, 'body' | 'options'>): boolean {
  return typeof body === 'object' || typeof options.google?.header === 'object'
}

/** Returns the texts of a message for the holders of a pass: one per language of the definition, or a single text. */
export function textsOf(
  text: WrittenText,
  { languages }: Pick<WrittenDefinition, 'languages'>,
  change = (one: string) => one,
): string | Record<string, string> {
  if (typeof text === 'string' || !languages) return change(textIn(text, UNSAID_LANGUAGE))
  return Object.fromEntries(
    languagesOf({ languages }).map((language) => [language, change(textIn(text, language, languages))]),
  )
}
