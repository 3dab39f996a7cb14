import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import {
  addToSums,
  applyRules,
  type BalanceSums,
  balanceTexts,
  balanceValue,
  coveredPart,
  isCovered,
} from '../../../../src/core/rules/balances/balances.ts'
import { renderCard } from '../../../../src/core/rules/display/card.ts'
import { checkDefinition } from '../../../../src/core/rules/template/definition.ts'
import { buildScope } from '../../../../src/core/rules/template/resolve.ts'
import { parseDefinition } from '../../../support/definitions.ts'

const design = { organizationName: 'O', description: 'D' }
const points = { label: 'Points', kind: 'integer' as const }
const credit = { label: 'Credit', kind: 'currency' as const, currency: 'EUR' }
const at = new Date('2026-11-28T12:00:00Z')

function definitionOf(parts: Partial<DefinitionInput>) {
  return parseDefinition({ design, ...parts })
}

function problemsOf(parts: Partial<DefinitionInput>): string[] {
  return checkDefinition(definitionOf(parts)).map(({ path, message }) => `${path.join('.')}: ${message}`)
}

describe('a change', () => {
  test('is covered if the value stays within the bounds, and 0 is a bound by default', () => {
    const balance = { min: 0, max: 10 }
    expect(isCovered(balance, 3, -3)).toBe(true)
    expect(isCovered(balance, 3, -4)).toBe(false)
    expect(isCovered(balance, 3, 7)).toBe(true)
    expect(isCovered(balance, 3, 8)).toBe(false)
    expect(isCovered({ min: 0 }, 0, 1_000_000_000_000)).toBe(true)
    expect(isCovered({ min: 0 }, 1, 1_000_000_000_000)).toBe(false)
  })

  test('toward the bounds is covered if a later version has narrower bounds', () => {
    expect(isCovered({ min: 0, max: 10 }, 15, -1)).toBe(true)
    expect(isCovered({ min: 0, max: 10 }, 15, 1)).toBe(false)
    expect(isCovered({ min: 0, max: 10 }, -5, 2)).toBe(true)
    expect(isCovered({ min: 0, max: 10 }, -5, -1)).toBe(false)
  })

  test('leaves every value within the bounds, and never goes beyond what was asked for', () => {
    const numbers = fc.integer({ min: -100, max: 100 })
    fc.assert(
      fc.property(numbers, fc.nat(100), numbers, numbers, (min, width, value, delta) => {
        const balance = { min, max: min + width }
        const part = coveredPart(balance, value, delta)
        expect(Math.abs(part)).toBeLessThanOrEqual(Math.abs(delta))
        expect(part * delta).toBeGreaterThanOrEqual(0)
        const isInside = value >= min && value <= balance.max
        if (isInside) expect(value + part).toBeGreaterThanOrEqual(min)
        if (isInside) expect(value + part).toBeLessThanOrEqual(balance.max)
      }),
    )
  })
})

test('the value is the start plus the sum of the entries, also for names of object members', () => {
  let sums: BalanceSums | null = null
  for (const delta of [5, -2, 9]) sums = addToSums(sums, 'constructor', delta, at)
  expect(sums).toEqual({ constructor: { sum: 12, count: 3, at: at.getTime() } })
  expect(balanceValue({ start: 100 }, 'constructor', sums)).toBe(112)
  expect(balanceValue({ start: 100 }, 'toString', sums)).toBe(100)
})

test('an accepted scan adds at most up to the maximum, and a debit that is not covered is reported', () => {
  const definition = definitionOf({
    balances: { stamps: { ...points, max: 10 }, credit: { ...credit, start: 300 }, visits: points },
    balanceRules: [
      { balance: 'stamps', delta: 3 },
      { balance: 'credit', delta: -250 },
    ],
  })
  expect(applyRules(definition, null)).toEqual([
    { name: 'stamps', value: 0, delta: 3, isUncovered: false },
    { name: 'credit', value: 300, delta: -250, isUncovered: false },
    { name: 'visits', value: 0, delta: 0, isUncovered: false },
  ])
  const sums = addToSums(addToSums(null, 'stamps', 9, at), 'credit', -100, at)
  expect(applyRules(definition, sums).slice(0, 2)).toEqual([
    { name: 'stamps', value: 9, delta: 1, isUncovered: false },
    { name: 'credit', value: 200, delta: -200, isUncovered: true },
  ])
})

test('placeholders show amounts in the major unit of their currency', () => {
  const { balances } = definitionOf({
    balances: {
      points,
      euros: { ...credit, start: 1240, min: -10_000 },
      yen: { ...credit, currency: 'JPY', start: 1240 },
      dinars: { ...credit, currency: 'KWD', start: 5 },
    },
  })
  const texts = (sums: BalanceSums | null) => Object.fromEntries(balanceTexts({ balances }, sums))
  expect(texts(null)).toEqual({
    'balance.points': '0',
    'balance.euros': '12.40',
    'balance.yen': '1240',
    'balance.dinars': '0.005',
  })
  expect(texts(addToSums(null, 'euros', -1245, at))['balance.euros']).toBe('-0.05')
})

test('a card formats balances by the type of the field, and names the first balance', () => {
  const definition = definitionOf({
    balances: { credit: { ...credit, start: 123_456 }, points: { ...points, start: 3 } },
    design: {
      ...design,
      fields: {
        primary: [{ key: 'c', label: 'Credit', value: '{{balance.credit}}', as: 'currency', currency: 'EUR' }],
        back: [{ key: 'p', label: 'Stamps', value: '{{balance.points}} of 10' }],
      },
    },
  })
  expect(checkDefinition(definition)).toEqual([])
  const facts = { id: 'i', externalPassId: 'e', label: 'l', scanCode: 's', templateName: 't', projectName: null }
  const scope = buildScope(definition, { ...facts, variables: {}, balanceSums: addToSums(null, 'points', 4, at) })
  const card = renderCard({ passType: 'storeCard', definition, scope, expiresAt: null, voided: false })
  expect(card.fields.primary[0]).toMatchObject({ value: '€1,234.56', isBalance: true })
  expect(card.fields.back[0]).toMatchObject({ value: '7 of 10' })
  expect(card.balance).toMatchObject({ label: 'Credit', value: '€1,234.56' })
})

test('a definition with wrong balances is rejected with the place of each problem', () => {
  const unknown = 'Unknown placeholder {{balance.other}}: declare the variable, or use one of'
  const wrong = problemsOf({
    balances: {
      a: { ...points, min: 5, start: 4 },
      b: { ...points, currency: 'EUR' },
      c: { label: 'C', kind: 'currency' },
      d: { ...credit, currency: 'XQX' },
      e: { ...points, min: 5, max: 4, start: 5 },
    },
    balanceRules: [
      { balance: 'a', delta: 1 },
      { balance: 'a', delta: 2 },
      { balance: 'toString', delta: 1 },
    ],
    design: { ...design, description: '{{balance.other}} {{balance.toString}} {{balance.a}}' },
    expiresAt: '{{balance.a}}',
    group: { key: '{{balance.a}}' },
    google: { classKey: '{{balance.a}}' },
  })
  expect(wrong.map((problem) => problem.slice(0, 70))).toEqual(
    expect.arrayContaining(
      [
        'balances.a.start: Must be from 5 to 1000000000000, the bounds of the balance',
        'balances.b.currency: Is only for money: set kind to currency, or remove this key',
        'balances.c.currency: Is required for money. Set a currency of ISO 4217, such as EUR',
        'balances.d.currency: Must be a currency of ISO 4217, such as EUR',
        'balances.e.max: Must be at least 5, the minimum',
        'balanceRules.1.balance: Duplicate rule of a: a balance can have one rule',
        'balanceRules.2.balance: Unknown balance toString: define it in balances',
        `design.description: ${unknown}`,
        'expiresAt: {{balance.a}} is not allowed here, because it changes with each entry',
        'group.key: {{balance.a}} is not allowed here, because it changes with each entry',
        'google.classKey: {{balance.a}} is not allowed here, because it changes with each entry',
      ].map((problem) => problem.slice(0, 70)),
    ),
  )
})
