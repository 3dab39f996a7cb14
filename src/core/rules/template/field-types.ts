import {
  type Definition,
  type FieldDefinition,
  fieldGroups,
  type ValueKind,
} from '../../contract/schemas/definition.ts'
import type { Issue } from '../../errors.ts'
import { balanceNamed } from '../balances/balances.ts'
import { currencies, isNumberKind, isOfKind, valueKinds } from '../display/format-value.ts'
import { lonePlaceholder, placeholdersIn } from './placeholder.ts'
import { typedTexts } from './variable-uses.ts'

/** Reports typed values that no pass could show, and placeholders for which the variables schema has no rule. */
export function* checkFieldTypes(definition: Definition): Generator<Issue> {
  const { design, google } = definition
  for (const group of fieldGroups) {
    for (const [index, field] of design.fields[group].entries()) {
      const path = ['design', 'fields', group, index]
      for (const { path: key, message } of checkField(field)) yield { path: [...path, ...key], message }
      if (field.align && (group === 'primary' || group === 'back')) {
        yield { path: [...path, 'align'], message: `Wallets do not align ${group} fields: remove align` }
      }
    }
  }
  yield* checkPlaceholders(definition)
  yield* checkRows(definition)
  const { header, primary, secondary, auxiliary } = design.fields
  const isKnown = [header, primary, secondary, auxiliary].flat().some(({ key }) => key === google?.points)
  if (google?.points !== undefined && !isKnown) {
    yield {
      path: ['google', 'points'],
      message: `Unknown field ${google.points}: use the key of a field on the front`,
    }
  }
}

function* checkRows({ design, google }: Definition): Generator<Issue> {
  const known = new Set(fieldGroups.flatMap((group) => design.fields[group].map(({ key }) => key)))
  const earlier = new Set<string>()
  for (const [row, keys] of (google?.rows ?? []).entries()) {
    for (const [index, key] of keys.entries()) {
      const path = ['google', 'rows', row, index]
      if (!known.has(key)) yield { path, message: `Unknown field ${key}: use the key of a field of the design` }
      else if (earlier.has(key)) yield { path, message: `Duplicate field ${key}: name each field only once` }
      earlier.add(key)
    }
  }
}

const dateKinds: readonly ValueKind[] = ['date', 'time', 'dateTime', 'relative']

function* checkField({ as = 'text', value, currency, style }: FieldDefinition): Generator<Issue> {
  if (style && !dateKinds.includes(as)) {
    yield {
      path: ['style'],
      message: `Is only for dates and times: set "as" to one of ${dateKinds.join(', ')}, or remove this key`,
    }
  }
  if (currency !== undefined && as !== 'currency') {
    yield { path: ['currency'], message: 'Is only for money: set "as" to currency, or remove this key' }
  }
  if (as === 'currency' && currency === undefined) {
    yield {
      path: ['currency'],
      message: 'Is required if "as" is currency. Set a currency of ISO 4217, such as EUR, or a placeholder',
    }
  }
  if (currency !== undefined && placeholdersIn(currency).length === 0 && !currencies().includes(currency)) {
    yield { path: ['currency'], message: 'Must be a currency of ISO 4217, such as EUR' }
  }
  const isStatic = as !== 'text' && placeholdersIn(value).length === 0 && value.trim() !== ''
  if (isStatic && !isOfKind(as, value.trim())) yield { path: ['value'], message: `Must be ${valueKinds[as].wanted}` }
}

/** Checks that a typed value comes from one variable, so that the variables schema can describe it. */
function* checkPlaceholders(definition: Definition): Generator<Issue> {
  const declared = new Set(definition.variables.map(({ name }) => name))
  for (const { path, text, uses } of typedTexts(definition)) {
    const [, , group, index, key] = path as ['design', 'fields', (typeof fieldGroups)[number], number, string]
    const { as } = definition.design.fields[group][index]!
    const name = lonePlaceholder(text.trim())
    const isMoment = key === 'value' && !isNumberKind(as) && as !== 'time'
    if (name === 'pass.expiresAt' && isMoment) continue
    const balance = name === undefined ? undefined : balanceNamed(name)
    const isBalance = balance !== undefined && Object.hasOwn(definition.balances ?? {}, balance)
    if (isBalance && key === 'value' && isNumberKind(as)) continue
    const isSound = uses?.every((use) => declared.has(use.name))
    // Skip undeclared variables, which are reported elsewhere.
    if (isSound || placeholdersIn(text).some((other) => !declared.has(other) && !other.includes('.'))) continue
    const wanted = key === 'currency' ? 'a currency of ISO 4217' : valueKinds[as as Exclude<ValueKind, 'text'>].wanted
    yield { path, message: `Must be ${wanted}, or the placeholder of a single variable` }
  }
}

const samples: Record<Exclude<ValueKind, 'text'>, string> = {
  number: '1250',
  percent: '15',
  currency: '12.50',
  date: '2030-01-31',
  time: '19:30',
  dateTime: '2030-01-31T18:00:00Z',
  relative: '2030-01-31',
}

export function typedSamples({ design }: Pick<Definition, 'design'>): Map<string, string> {
  const found = new Map<string, string>()
  for (const { as = 'text', value, currency = '' } of fieldGroups.flatMap((group) => design.fields[group])) {
    const name = lonePlaceholder(value.trim())
    if (as !== 'text' && name !== undefined) found.set(name, samples[as])
    const currencyName = lonePlaceholder(currency)
    if (currencyName !== undefined) found.set(currencyName, 'EUR')
  }
  return found
}
