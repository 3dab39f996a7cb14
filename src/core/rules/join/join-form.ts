import { createHash } from 'node:crypto'
import { codePointLength } from '../../bounds.ts'
import { type JoinPageWrite, MAX_SOURCE } from '../../contract/join-pages.ts'
import type { Definition, WrittenDefinition } from '../../contract/schemas/definition.ts'
import type { Issue } from '../../errors.ts'
import { checkTranslations, type WrittenText } from '../template/definition-languages.ts'
import { fill, placeholdersIn } from '../template/placeholder.ts'
import { variablesSchema } from '../template/variables.ts'

export type JoinForm = Pick<JoinPageWrite, 'title' | 'intro' | 'fields' | 'labelFrom' | 'consent' | 'identity'>

/** A field of the form of a join page, with the rules from the variables schema of the published version. */
export interface FormField {
  name: string
  label: WrittenText
  kind: FieldKind
  isRequired: boolean
  /** The maximum length of the value, in code points. */
  maxLength: number
  /** Regular expressions. A value must match all of them. */
  patterns: string[]
  options: readonly string[]
  example: string | undefined
}

/** `text` also covers date-times, because no browser input accepts a UTC offset. */
export type FieldKind = 'text' | 'email' | 'number' | 'url' | 'date' | 'choice'

export type FieldError = 'required' | 'tooLong' | 'email' | 'number' | 'url' | 'date' | 'invalid'

/** The maximum length of a value, even if the variable allows more. It keeps the checks of patterns fast. */
const MAX_LENGTH = 500
/** The maximum length of an email address (RFC 5321). */
const MAX_EMAIL_LENGTH = 254
const MAX_LABEL = 255

/** Omits fields for variables that the published version no longer declares. */
export function formFields(definition: Definition, { fields, identity }: JoinForm): FormField[] {
  const { properties, required } = variablesSchema(definition)
  const formats = new Map(definition.variables.map(({ name, format }) => [name, format]))
  return fields.flatMap(({ variable: name, label, required: isWanted = false }): FormField[] => {
    const schema: Schema | undefined = properties[name]
    if (!schema) return []
    const rules = [schema, ...(schema.allOf ?? [])]
    const options = rules.find((rule) => rule.enum)?.enum ?? []
    const format = formats.get(name)
    const kind = options.length > 0 ? 'choice' : kindOf(format)
    const most = kind === 'email' ? MAX_EMAIL_LENGTH : MAX_LENGTH
    return [
      {
        name,
        label: label ?? schema.title,
        kind,
        isRequired: isWanted || required.includes(name) || name === identity,
        maxLength: Math.min(schema.maxLength ?? most, most),
        patterns: rules.flatMap(({ pattern }) => pattern ?? []),
        options,
        example: schema.examples?.[0],
      },
    ]
  })
}

/** Whether the definition declares the identity variable of the page as an email. True for a page without identity. */
export function hasIdentity({ variables }: Pick<Definition, 'variables'>, { identity }: Pick<JoinForm, 'identity'>) {
  return identity === undefined || variables.some(({ name, format }) => name === identity && format === 'email')
}

interface Schema {
  title: string
  maxLength?: number
  pattern?: string
  enum?: readonly string[]
  allOf?: { pattern?: string; enum?: readonly string[] }[]
  examples?: string[]
}

function kindOf(format: Definition['variables'][number]['format']): FieldKind {
  return format === 'email' || format === 'number' || format === 'url' || format === 'date' ? format : 'text'
}

export type ReadForm = { variables: Record<string, string> } | { errors: Map<string, FieldError> }

/** Clean each value with `cleanValue` first. An empty field sets no variable. */
export function readForm(fields: readonly FormField[], values: ReadonlyMap<string, string>): ReadForm {
  const errors = new Map<string, FieldError>()
  const variables: Record<string, string> = {}
  for (const field of fields) {
    const value = values.get(field.name) ?? ''
    const error = errorOf(field, value)
    if (error) errors.set(field.name, error)
    else if (value !== '') variables[field.name] = value
  }
  return errors.size > 0 ? { errors } : { variables }
}

function errorOf({ kind, isRequired, maxLength, patterns, options }: FormField, value: string): FieldError | undefined {
  if (value === '') return isRequired ? 'required' : undefined
  if (codePointLength(value) > maxLength) return 'tooLong'
  const fits =
    (options.length === 0 || options.includes(value)) &&
    patterns.every((pattern) => new RegExp(pattern, 'u').test(value))
  if (fits) return undefined
  return kind === 'text' || kind === 'choice' ? 'invalid' : kind
}

const DIRECTION_MARKS = /[\u202a-\u202e\u2066-\u2069]/gu
const CONTROLS = /[\p{Cc}\p{Cs}\u2028\u2029]+/gu

/** Matches a text with only invisible characters, such as zero-width spaces and fillers. */
const INVISIBLE = /^[\p{Default_Ignorable_Code_Point}\s]*$/u

/**
 * Cleans a text that a visitor typed: puts it on one line, trims it, and removes controls of the text direction. A text
 * with only invisible characters becomes empty.
 */
export function cleanValue(typed: string): string {
  const clean = typed.normalize('NFC').replace(DIRECTION_MARKS, '').replace(CONTROLS, ' ').replace(/ {2,}/g, ' ').trim()
  return INVISIBLE.test(clean) ? '' : clean
}

/** Returns the cleaned source of a visit, cut to its maximum length, or null if there is none. */
export function sourceOf(given: string | null): string | null {
  if (given === null) return null
  const cut = cleanValue(given.slice(0, 4 * MAX_SOURCE)).slice(0, MAX_SOURCE)
  return cut.replace(/[\ud800-\udbff]$/, '').trim() || null
}

/** Returns the label of a pass: the first text whose placeholders all have a value. `undefined` if there is none. */
export function labelOf(texts: readonly string[], variables: Record<string, string>): string | undefined {
  const scope = new Map(Object.entries(variables))
  const text = texts.find((one) => placeholdersIn(one).every((name) => scope.has(name)))
  const label = text === undefined ? '' : cleanValue(fill(text, scope))
  return [...label].slice(0, MAX_LABEL).join('').trim() || undefined
}

/** Returns an email address in the form by which visitors are identified: trimmed and in lower case. */
export function foldAddress(address: string): string {
  return address.trim().toLowerCase()
}

/** Returns the digest of an email address, which the database stores: SHA-256 of its `foldAddress`, in hexadecimal. */
export function addressDigest(address: string): string {
  return createHash('sha256').update(foldAddress(address)).digest('hex')
}

export type JoinState = 'open' | 'closed' | 'full'

/** A page that is both closed and full counts as closed. */
export function joinState(
  page: { open: boolean; closesAt: Date | null; limit: number | null; joined: number },
  at: Date,
): JoinState {
  if (!page.open || (page.closesAt !== null && page.closesAt <= at)) return 'closed'
  return page.limit !== null && page.joined >= page.limit ? 'full' : 'open'
}

/** Checks a join page against the definition of the published version. Returns the issues. */
export function checkJoinPage(page: JoinForm, written: WrittenDefinition, definition: Definition): Issue[] {
  return [
    ...checkFields(page, definition),
    ...checkLabels(page),
    ...checkTranslations(translatedOf(page), written.languages),
  ]
}

function* checkFields(page: JoinForm, definition: Definition): Generator<Issue> {
  const { required } = variablesSchema(definition)
  const declared = new Map(definition.variables.map((variable) => [variable.name, variable]))
  const names = page.fields.map(({ variable }) => variable)
  for (const [index, name] of names.entries()) {
    const path = ['fields', index, 'variable']
    const variable = declared.get(name)
    if (!variable) yield { path, message: `The published version has no variable ${name}` }
    else if (variable.format === 'image') yield { path, message: `${name} is an image, which visitors cannot enter` }
    if (names.indexOf(name) < index) yield { path, message: `The variable ${name} has two fields` }
  }
  const missing = required.filter((name) => !names.includes(name))
  if (missing.length > 0) {
    yield { path: ['fields'], message: `Every pass requires ${missing.join(', ')}: add a field for each` }
  }
  const { identity } = page
  if (identity === undefined) return
  const path = ['identity']
  if (!names.includes(identity)) yield { path, message: `There is no field for ${identity}: add one` }
  else if (!hasIdentity(definition, page))
    yield { path, message: `The variable ${identity} must have the format email` }
}

function* checkLabels({ labelFrom, fields }: JoinForm): Generator<Issue> {
  for (const [index, text] of labelFrom.entries()) {
    for (const name of placeholdersIn(text)) {
      if (fields.some(({ variable }) => variable === name)) continue
      yield {
        path: ['labelFrom', index],
        message: `There is no field for {{${name}}}: add one, or remove the placeholder`,
      }
    }
  }
}

function* translatedOf({ title, intro, fields, consent }: JoinForm) {
  const texts: { text: WrittenText | undefined; path: (string | number)[] }[] = [
    { text: title, path: ['title'] },
    { text: intro, path: ['intro'] },
    { text: consent.text, path: ['consent', 'text'] },
    ...fields.map(({ label }, index) => ({ text: label, path: ['fields', index, 'label'] })),
  ]
  for (const { text, path } of texts) {
    if (typeof text === 'object') yield { what: 'text' as const, translations: text, path }
  }
}
