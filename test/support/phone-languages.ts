import { unzipSync } from 'fflate'

const ENTRY = /^"((?:[^"\\]|\\.)*)" = "((?:[^"\\]|\\.)*)";$/

/** Parses a strings file like a phone, with one entry per line. */
export function readStrings(bytes: Uint8Array): Map<string, string> {
  const strings = new Map<string, string>()
  for (const line of new TextDecoder().decode(bytes).split('\n')) {
    const [, text, translation] = ENTRY.exec(line) ?? []
    if (text !== undefined && translation !== undefined) strings.set(unquote(text), unquote(translation))
  }
  return strings
}

const escapes: Record<string, string> = { n: '\n', r: '\r', t: '\t' }

function unquote(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, char: string) => escapes[char] ?? char)
}

/** Returns a function that translates a text of pass.json as an iPhone in the given language does. */
export function openedIn(language: string, archive: Uint8Array): (text: string) => string {
  const strings = unzipSync(archive)[`${language}.lproj/pass.strings`]
  const texts = strings ? readStrings(strings) : new Map<string, string>()
  return (text) => texts.get(text) ?? text
}

interface Localized {
  defaultValue: { language: string; value: string }
  translatedValues?: { language: string; value: string }[]
}

/** Returns the text that Google Wallet shows on a phone in the given language. */
export function shownIn(language: string, plain: unknown, localized: unknown): unknown {
  if (localized === undefined || localized === null) return plain
  const { defaultValue, translatedValues = [] } = localized as Localized
  return translatedValues.find((translated) => translated.language === language)?.value ?? defaultValue.value
}
