import { fieldGroups, overridesOf, type WrittenDefinition } from '../../contract/schemas/definition.ts'
import type { Issue } from '../../errors.ts'
import { languagesOf, splitTexts } from './definition-languages.ts'
import { placeholdersIn, stringsDeep } from './placeholder.ts'

/**
 * The maximum number of placeholders of a pass in all languages. The conference example would have 540 in 20 languages.
 */
export const MAX_PLACEHOLDERS = 5_000
/** The maximum number of names and values in the overrides of a platform, at any depth. */
export const MAX_OVERRIDE_VALUES = 2_000

/**
 * The maximum number of currencies times languages, because each combination needs a separate formatter, which is slow
 * to create.
 */
export const MAX_CURRENCY_FORMATS = 200

/**
 * Checks that rendering a definition takes little work, because even a small definition can take much (decisions/0016).
 * Run this check before other checks.
 */
export function checkRenderWork(written: WrittenDefinition): Issue[] {
  const issues = Object.entries(overridesOf(written)).flatMap(([key, overrides]) => {
    const values = countValues(overrides)
    if (values <= MAX_OVERRIDE_VALUES) return []
    const message = `Has ${values} names and values, and at most ${MAX_OVERRIDE_VALUES} are allowed: remove some`
    return [{ path: [key], message }]
  })
  return issues.length > 0 ? issues : [...checkCurrencies(written), ...checkPlaceholderCount(written)]
}

function checkCurrencies(written: WrittenDefinition): Issue[] {
  const { fields } = written.design
  const currencies = new Set(fieldGroups.flatMap((group) => fields[group].flatMap(({ currency }) => currency ?? [])))
  const formats = currencies.size * Math.max(1, languagesOf(written).length)
  if (formats <= MAX_CURRENCY_FORMATS) return []
  const message =
    `Each pass formats ${currencies.size} currencies in each of its languages. These are ${formats} in total, and at ` +
    `most ${MAX_CURRENCY_FORMATS} are allowed: use fewer currencies`
  return [{ path: ['design', 'fields'], message }]
}

function checkPlaceholderCount(written: WrittenDefinition): Issue[] {
  const languages = Math.max(1, languagesOf(written).length)
  const { texts, rest } = splitTexts(written)
  const { variables: _, ...content } = rest
  let total = 0
  let most = { count: 0, path: [] as Issue['path'] }
  const add = (text: string, path: Issue['path'], times: number) => {
    const count = placeholdersIn(text).length * times
    total += count
    if (count > most.count) most = { count, path }
  }
  for (const { text, path } of stringsDeep(content)) add(text, path, languages)
  for (const { text, path } of texts) {
    if (typeof text === 'string') add(text, path, languages)
    else for (const [language, translation] of Object.entries(text)) add(translation, [...path, language], 1)
  }
  if (total <= MAX_PLACEHOLDERS) return []
  const message =
    `Each pass renders ${total} placeholders in all of its languages, and at most ${MAX_PLACEHOLDERS} are allowed: ` +
    `use fewer. This text has the most (${most.count})`
  return [{ path: most.path, message }]
}

function countValues(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + 1 + countValues(item), 0)
  return Object.values(value).reduce((sum: number, item) => sum + 2 + countValues(item), 0)
}
