import { z } from 'zod'
import { mapStrings } from '../../core/json.ts'
import { translatedKeys } from '../../core/rules/display/apple-look.ts'
import { nearestLanguage } from '../../core/rules/display/language-match.ts'
import type { PassJson } from './apple-pass-json.ts'

/** Translations in the pass.strings files of a package, by language and original text. */
export const PassStrings = z.record(z.string(), z.record(z.string(), z.string()))
export type PassStrings = z.output<typeof PassStrings>

/**
 * Returns pass.json with the texts of the best matching language of the package. Returns pass.json unchanged if no
 * language matches.
 */
export function passIn({ content, strings }: { content: PassJson; strings: PassStrings }, language: string): PassJson {
  const found = nearestLanguage([language], Object.keys(strings))
  if (!found) return content
  const texts = new Map(Object.entries(strings[found.language]!))
  const translate = (text: string) => texts.get(text) ?? text
  return mapStrings(content, (text, path) => (translatedKeys.has(path.at(-1)) ? translate(text) : text)) as PassJson
}

const ESCAPES = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
])

/**
 * Parses a strings file as phones do: UTF-8, or UTF-16 with a byte order mark. Returns `undefined` for other content.
 */
export function parseStrings(bytes: Buffer): Record<string, string> | undefined {
  const isUtf16 = bytes.length >= 2 && bytes[0] === 0xff && bytes[1] === 0xfe
  const text = new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8').decode(bytes)
  const strings = new Map<string, string>()
  const entry = /\s*"((?:[^"\\]|\\[\s\S])*)"\s*=\s*"((?:[^"\\]|\\[\s\S])*)"\s*;/y
  let end = 0
  for (let found = entry.exec(text); found; found = entry.exec(text)) {
    strings.set(unescaped(found[1]!), unescaped(found[2]!))
    end = entry.lastIndex
  }
  return text.slice(end).trim() === '' ? Object.fromEntries(strings) : undefined
}

function unescaped(text: string): string {
  return text.replaceAll(/\\([\s\S])/g, (_, char: string) => ESCAPES.get(char) ?? char)
}
