import { z } from 'zod'
import { Definition, type WrittenDefinition } from '../../core/contract/schemas/definition.ts'
import { type Issue, parseAs } from '../../core/errors.ts'
import { valueAt } from '../../core/json.ts'
import { checkDefinition } from '../../core/rules/template/definition.ts'
import { languagesOf, listTexts, type WrittenText } from '../../core/rules/template/definition-languages.ts'
import { replaceOwnSync } from '../../files/private-file.ts'
import { UsageError } from '../command/cli-error.ts'
import { fileError, type JsonFile, readJsonFile } from './json-file.ts'
import type { TemplateFile } from './template-file.ts'

/** The file of texts for a translator. */
const Strings = z.strictObject({
  /** The default language of the definition. */
  sourceLanguage: z.string(),
  targetLanguage: z.string(),
  entries: z.array(
    z.strictObject({
      /** The path in the definition, such as design.fields.back.0.label. */
      key: z.string(),
      source: z.string(),
      /** The translation; empty if there is none yet. */
      target: z.string(),
    }),
  ),
})
type Strings = z.output<typeof Strings>

type Path = (string | number)[]

/**
 * Returns the texts of a template with their translations into another of its languages. Omits texts with only
 * placeholders, numbers, and symbols.
 * @throws UsageError if the definition does not have the language
 */
export function stringsFor({ path, definition }: TemplateFile, language: string): Strings {
  const sourceLanguage = requireTranslated(path, definition, language)
  const entries = translatable(definition, sourceLanguage).map(({ key, source, text }) => ({
    key,
    source,
    target: (typeof text === 'string' ? undefined : text[language]) ?? '',
  }))
  return { sourceLanguage, targetLanguage: language, entries }
}

/**
 * Writes the translations of a strings file into the template file, whose other text stays unchanged. Skips entries
 * without a target. If any entry does not match the template file, throws an error and writes nothing.
 * @returns the number of changed texts, and of texts without a translation
 * @throws CliError with each mismatch, by line and column; UsageError if the template does not have the language
 */
export async function writeStrings(file: TemplateFile, path: string) {
  const strings = await readJsonFile(path, Strings, 'a file of strings')
  const { sourceLanguage, targetLanguage: language, entries } = strings.value
  const ownLanguage = requireTranslated(file.path, file.definition, language)
  if (sourceLanguage !== ownLanguage) {
    const message = `The default language of ${file.path} is ${ownLanguage}`
    throw await fileError(strings, `does not match ${file.path}`, [{ path: ['sourceLanguage'], message }])
  }
  const known = new Map(translatable(file.definition, ownLanguage).map((entry) => [entry.key, entry]))
  const issues = [...checkEntries(strings, known)]
  if (issues.length > 0) throw await fileError(strings, `does not match ${file.path}`, issues)

  const changes = entries.flatMap(({ key, source, target }, index) => {
    const { text, path: place } = known.get(key)!
    const isSame = target === '' || target === (typeof text === 'string' ? text : text[language])
    return isSame ? [] : [{ index, place, text: { ...inDefault(text, ownLanguage, source), [language]: target } }]
  })
  const changeIssues = checkChanged(file.definition, changes)
  if (changeIssues.length > 0) throw await fileError(strings, `cannot be imported into ${file.path}`, changeIssues)
  if (changes.length > 0) replaceOwnSync(file.path, await changedText(file.text, changes, language))
  const done = new Set(entries.flatMap(({ key, target }) => (target === '' ? [] : [key])))
  const missing = [...known.values()].filter(
    ({ key, text }) => !done.has(key) && (typeof text === 'string' || text[language] === undefined),
  )
  return { language, changed: changes.length, missing: missing.length }
}

function requireTranslated(path: string, definition: WrittenDefinition, language: string): string {
  const [original, ...others] = languagesOf(definition)
  if (original === undefined) {
    const hint = `add "languages": { "default": "…", "others": ["${language}"] } to its definition.`
    throw new UsageError(`${path} defines no languages`, { hint })
  }
  if (language === original) throw new UsageError(`${path} is written in ${language}: there is nothing to translate`)
  if (!others.includes(language)) {
    const hint = `add it to "others" in its languages, which are ${[original, ...others].join(', ')}.`
    throw new UsageError(`${path} has no language ${language}`, { hint })
  }
  return original
}

interface Translatable {
  key: string
  path: Path
  source: string
  text: WrittenText
}

function translatable(definition: WrittenDefinition, language: string): Translatable[] {
  return listTexts(definition).flatMap(({ text, path }) => {
    const source = typeof text === 'string' ? text : (text[language] ?? '')
    const hasWords = /\p{L}/u.test(source.replaceAll(/\{\{[^{}]*\}\}/g, ''))
    return hasWords ? [{ key: path.join('.'), path, source, text }] : []
  })
}

function* checkEntries({ value }: JsonFile<Strings>, known: ReadonlyMap<string, Translatable>): Generator<Issue> {
  const seen = new Set<string>()
  for (const [index, { key, source }] of value.entries.entries()) {
    const entry = known.get(key)
    if (!entry) yield { path: ['entries', index, 'key'], message: `Text ${key} not found in the template` }
    else if (seen.has(key)) yield { path: ['entries', index, 'key'], message: `Duplicate text ${key}` }
    else if (entry.source !== source) {
      const message = `The text at ${key} is now ${JSON.stringify(entry.source)}: have it translated again`
      yield { path: ['entries', index, 'source'], message }
    }
    seen.add(key)
  }
}

interface Change {
  index: number
  place: Path
  text: Record<string, string>
}

function inDefault(text: WrittenText, language: string, source: string): Record<string, string> {
  return typeof text === 'string' ? { [language]: source } : text
}

/**
 * Returns the issues in the new texts that would prevent publishing. Ignores issues elsewhere, because a draft can have
 * them.
 */
function checkChanged(definition: WrittenDefinition, changes: readonly Change[]): Issue[] {
  const changed = structuredClone(definition)
  for (const { place, text } of changes) {
    const holder = valueAt(changed, place.slice(0, -1)) as Record<string, unknown>
    holder[place.at(-1)!] = text
  }
  const parsed = parseAs(Definition, changed)
  const issues = 'issues' in parsed ? parsed.issues : checkDefinition(parsed.value)
  return issues.flatMap(({ path, message }) => {
    const change = changes.find(({ place }) => place.every((key, n) => path[n] === key))
    return change ? [{ path: ['entries', change.index, 'target'], message }] : []
  })
}

/** Returns the text of the template file with the new translations inserted and everything else unchanged. */
async function changedText(text: string, changes: readonly Change[], language: string): Promise<string> {
  const { isMap, isNode, isScalar, parseDocument } = await import('yaml')
  // Use the YAML parser, which also reads JSON, and keeps the positions that `JSON.parse` loses.
  const document = parseDocument(text, { logLevel: 'silent' })
  const edits = changes.map((change) => {
    const node = document.getIn(['definition', ...change.place], true)
    if (!isNode(node) || !node.range) throw new TypeError(`Found no ${change.place.join('.')}`)
    const target = JSON.stringify(change.text[language])
    const last = isMap(node) ? node.items.at(-1) : undefined
    if (!isMap(node) || !last) {
      const pairs = Object.entries(change.text).map(([key, said]) => `${JSON.stringify(key)}: ${JSON.stringify(said)}`)
      return { from: node.range[0], to: node.range[1], text: `{ ${pairs.join(', ')} }` }
    }
    const present = node.get(language, true)
    if (isScalar(present)) return { from: present.range![0], to: present.range![1], text: target }
    const [key, value] = [last.key, last.value]
    if (!isNode(key) || !isNode(value)) throw new TypeError(`Found no text at ${change.place.join('.')}`)
    const before = text.slice(0, key.range![0])
    const space = before.slice(before.trimEnd().length)
    return { from: value.range![1], to: value.range![1], text: `,${space}${JSON.stringify(language)}: ${target}` }
  })
  return edits
    .toSorted((one, other) => other.from - one.from)
    .reduce((done, { from, to, text: said }) => done.slice(0, from) + said + done.slice(to), text)
}
