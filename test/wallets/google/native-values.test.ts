import { expect, test } from 'vitest'
import type { DefinitionInput } from '../../../src/core/contract/schemas/definition.ts'
import { readGoogleView } from '../../../src/core/rules/display/google-view.ts'
import { checkFields } from '../../../src/wallets/google/check-fields.ts'
import { buildClass } from '../../../src/wallets/google/classes.ts'
import { typeOf } from '../../../src/wallets/google/fields.ts'
import { buildObject, withCleared } from '../../../src/wallets/google/objects.ts'
import { at, identity, pass, publicUrl } from './samples.ts'

type FieldInput = NonNullable<NonNullable<DefinitionInput['design']['fields']>['header']>[number]

const issuer = { issuerId: identity.issuerId, publicUrl }

function made(
  kind: 'loyalty' | 'giftCard' | 'generic',
  field: Partial<FieldInput>,
  google: DefinitionInput['google'] = {},
) {
  const fields = {
    header: [{ key: 'level', label: 'Level', value: '7', as: 'number' as const }],
    primary: [{ key: 'points', label: 'Points', value: '1250', ...field }],
  }
  const walletPass = pass({ design: { fields }, google: { kind, ...google } })
  const [ofClass, object] = [buildClass(issuer, walletPass), buildObject(issuer, walletPass, at)]
  const issues = [...checkFields(typeOf(kind, 'Object'), object, { needsLogos: true })]
  const modules = (object.textModulesData ?? []) as { id: string; body: string }[]
  return {
    object,
    issues,
    modules: modules.map(({ id, body }) => `${id} ${body}`),
    view: readGoogleView(ofClass, object),
  }
}

test.each<[string, Partial<FieldInput>, object, string]>([
  ['a whole number', { as: 'number' }, { int: 1250 }, '1,250'],
  ['a fraction', { as: 'number', value: '12.5' }, { double: 12.5 }, '12.5'],
  ['more than an int32', { as: 'number', value: '3000000000' }, { string: '3,000,000,000' }, '3,000,000,000'],
  [
    'an amount',
    { as: 'currency', currency: 'EUR', value: '12.5' },
    { money: { micros: '12500000', currencyCode: 'EUR' } },
    '€12.50',
  ],
  [
    'yen',
    { as: 'currency', currency: 'JPY', value: '-1250' },
    { money: { micros: '-1250000000', currencyCode: 'JPY' } },
    '-¥1,250',
  ],
  [
    'an amount beyond int64',
    { as: 'currency', currency: 'EUR', value: '99999999999999' },
    { string: '€99,999,999,999,999.00' },
    '€99,999,999,999,999.00',
  ],
])("points of %s are in Google's field for points, and are shown", (_, field, balance, shown) => {
  const { object, issues, modules, view } = made('loyalty', field)
  expect(object.loyaltyPoints).toEqual({ label: 'Points', balance })
  expect(issues).toEqual([])
  expect(modules).toEqual(['level 7'])
  expect(view.rows.flat().map(({ label, value }) => `${label} ${value}`)).toEqual(['Level 7', `Points ${shown}`])
})

test('points come from the named field, the first number of the header, or an override', () => {
  expect(made('loyalty', { as: 'number' }, { points: 'level' }).object.loyaltyPoints).toMatchObject({ label: 'Level' })
  expect(made('loyalty', {}).object.loyaltyPoints).toEqual({ label: 'Level', balance: { int: 7 } })
  const own = { loyaltyPoints: { balance: { string: 'a lot' } } }
  const { object, modules } = made('loyalty', { as: 'number' }, { object: own })
  expect(object.loyaltyPoints).toEqual(own.loyaltyPoints)
  expect(modules).toEqual(['level 7', 'points 1,250'])
})

test('points are the first balance of the pass, unless the definition names a field', () => {
  const balances = {
    credit: { label: 'Credit', kind: 'currency' as const, currency: 'EUR', start: 1240 },
    stamps: { label: 'Stamps', kind: 'integer' as const },
  }
  const objectOf = (header: FieldInput[], google: DefinitionInput['google'] = {}) => {
    const fields = { header, primary: [{ key: 'level', label: 'Level', value: '7', as: 'number' as const }] }
    const walletPass = pass({ design: { fields }, google: { kind: 'loyalty', ...google }, balances })
    return buildObject(issuer, walletPass, at)
  }
  const balance = { money: { micros: '12400000', currencyCode: 'EUR' } }
  expect(objectOf([]).loyaltyPoints).toEqual({ label: 'Credit', balance })
  expect(objectOf([], { points: 'level' }).loyaltyPoints).toEqual({ label: 'Level', balance: { int: 7 } })
  // A field that shows the same amount is not shown twice.
  const shown = { key: 'c', label: 'Left', value: '{{balance.credit}}', as: 'currency' as const, currency: 'EUR' }
  const object = objectOf([shown])
  expect(object.loyaltyPoints).toEqual({ label: 'Left', balance })
  expect((object.textModulesData as { id: string }[]).map(({ id }) => id)).toEqual(['level'])
})

test('a gift card has its balance in micros, and other kinds a formatted text', () => {
  const amount = { as: 'currency' as const, currency: 'EUR', value: '20' }
  const gift = made('giftCard', amount)
  expect(gift.object.balance).toEqual({ micros: '20000000', currencyCode: 'EUR' })
  expect(gift.view.rows.flat().map(({ value }) => value)).toEqual(['7', '€20.00'])
  expect(made('generic', { as: 'percent', value: '15' }).object.header).toMatchObject({
    defaultValue: { value: '15%' },
  })
})

test('an update clears points of another type', () => {
  const { object } = made('loyalty', { as: 'number' })
  const { loyaltyPoints } = withCleared('loyalty', object)
  const balance = { int: 1250, double: null, string: null, money: null }
  expect(loyaltyPoints).toEqual({ label: 'Points', localizedLabel: null, balance })
})
