import { expect, test } from 'vitest'
import type { DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import { checkDefinition } from '../../../../src/core/rules/template/definition.ts'
import { inLanguage, writtenOf } from '../../../../src/core/rules/template/definition-languages.ts'
import {
  checkRenderWork,
  MAX_CURRENCY_FORMATS,
  MAX_OVERRIDE_VALUES,
  MAX_PLACEHOLDERS,
} from '../../../../src/core/rules/template/render-work.ts'
import { parseDefinition } from '../../../support/definitions.ts'

const languages = { default: 'en', others: ['pt', 'es', 'fr'] }

function withFields(values: DefinitionInput['design']['fields'], parts: Partial<DefinitionInput> = {}) {
  const variables = [{ name: 'v', label: 'V', maxLength: 1 }]
  const design = { organizationName: 'O', description: 'D', fields: values }
  return writtenOf(parseDefinition({ variables, languages, design, ...parts }))
}

test('counts each placeholder in every language that renders it, and names the text with most of them', () => {
  // 625 placeholders in each of 4 languages are half of the limit.
  const field = (key: string, count = 625) => ({ key, value: '{{v}}'.repeat(count) })
  const fits = withFields({ back: [field('a'), field('b')] })
  expect(checkRenderWork(fits)).toEqual([])
  const exceeds = withFields({ back: [field('a'), field('b', 626)] })
  const message = expect.stringMatching(
    `renders ${MAX_PLACEHOLDERS + 4} placeholders.* at most ${MAX_PLACEHOLDERS} .*text has the most .2504.`,
  )
  expect(checkRenderWork(exceeds)).toEqual([{ path: ['design', 'fields', 'back', 1, 'value'], message }])
})

test('counts a translation only in its language', () => {
  const text = '{{v}}'.repeat(499)
  const value = { en: text, pt: text, es: text, fr: text }
  const back = [
    { key: 'a', value },
    { key: 'b', value },
    { key: 'c', value: { ...value, en: 'x' } },
  ]
  expect(checkRenderWork(withFields({ back: back.slice(0, 2) }))).toEqual([])
  const [issue, ...others] = checkRenderWork(withFields({ back }))
  expect(issue).toMatchObject({ path: ['design', 'fields', 'back', 0, 'value', 'en'] })
  expect(others).toEqual([])
})

test.each(['apple', 'google'] as const)('limits the names and values of the overrides for %s', (platform) => {
  const max = MAX_OVERRIDE_VALUES
  const of = (count: number) => {
    // Subtract the names around the list and their values: four, or two.
    const list = Array.from({ length: count - (platform === 'apple' ? 2 : 4) }, () => [])
    return withFields({}, platform === 'apple' ? { apple: { userInfo: list } } : { google: { object: { x: list } } })
  }
  expect(checkRenderWork(of(max))).toEqual([])
  const message = expect.stringContaining(`Has ${max + 1} names and values, and at most ${max} are allowed`)
  expect(checkRenderWork(of(max + 1))).toEqual([{ path: [platform], message }])
})

test('limits the currencies of all fields, counted once for each language', () => {
  // The limit is 50 currencies in 4 languages, regardless of the number of fields.
  const amount = (n: number, currency: string) => ({ key: `k${n}`, value: '1', as: 'currency', currency }) as const
  const back = Array.from({ length: 50 }, (_, n) => amount(n, `{{c${n}}}`))
  const auxiliary = [amount(100, '{{c0}}')]
  expect(checkRenderWork(withFields({ back, auxiliary }))).toEqual([])
  const exceeds = withFields({ back, auxiliary: [amount(100, 'EUR')] })
  const message = expect.stringMatching(`51 currencies .*204 .* at most ${MAX_CURRENCY_FORMATS} `)
  expect(checkRenderWork(exceeds)).toEqual([{ path: ['design', 'fields'], message }])
})

test('reports too much work before any other check, as the only issue', () => {
  const back = [{ key: 'a', value: '{{unknown}}'.repeat(900) }]
  const many = Array.from({ length: 4 }, (_, n) => ({ ...back[0]!, key: `k${n}` }))
  expect(checkDefinition(withFields({ back: many }))).toEqual(checkRenderWork(withFields({ back: many })))
  expect(checkDefinition(withFields({ back }))).toHaveLength(900)
})

test('checks the texts of a translation in its language, with their path', () => {
  const definition = withFields(
    { back: [{ key: 'a', value: { en: 'x', pt: '{{unknown}}', es: 'a }} b', fr: '{{v}}' } }] },
    { event: { name: { en: 'Night', pt: 'Noite {{pass.id}}' } }, google: { classKey: '{{v}}' } },
  )
  const places = [
    ['design', 'fields', 'back', 0, 'value', 'pt'],
    ['design', 'fields', 'back', 0, 'value', 'es'],
    ['event', 'name', 'pt'],
  ]
  const found = checkDefinition(inLanguage(definition)).map(({ path }) => path)
  expect(found).toHaveLength(places.length)
  expect(found).toEqual(expect.arrayContaining(places))
})
