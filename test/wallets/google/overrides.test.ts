import { expect, test } from 'vitest'
import { typeOf } from '../../../src/wallets/google/fields.ts'
import { applyOverrides as applyTo } from '../../../src/wallets/google/overrides.ts'
import type { GoogleResource } from '../../../src/wallets/google/resource.ts'

const applyOverrides = (resource: GoogleResource, overrides: Record<string, unknown>) =>
  applyTo(resource, overrides, typeOf('loyalty', 'Object'))

const resource = { id: '1.a', classId: '1.c', state: 'ACTIVE', barcode: { type: 'QR_CODE', value: 'x' }, list: [1, 2] }

test('merges objects, and replaces arrays and plain values', () => {
  expect(applyOverrides(resource, { barcode: { type: 'AZTEC' }, list: [3], extra: { deep: true } })).toEqual({
    ...resource,
    barcode: { type: 'AZTEC', value: 'x' },
    list: [3],
    extra: { deep: true },
  })
})

test('null removes a whole value', () => {
  expect(applyOverrides(resource, { barcode: null })).not.toHaveProperty('barcode')
  expect(applyOverrides(resource, { barcode: { value: null } }).barcode).toEqual({ type: 'QR_CODE' })
})

test('overrides cannot change id, class, and state', () => {
  const overrides = { id: '1.other', classId: '1.other', state: 'ACTIVE', extra: 1 }
  expect(applyOverrides({ ...resource, state: 'INACTIVE' }, overrides)).toEqual({
    ...resource,
    state: 'INACTIVE',
    extra: 1,
  })
})

test('overrides cannot change a prototype', () => {
  const overrides = JSON.parse(
    '{"__proto__":{"a":1},"barcode":{"__proto__":{"a":1}},"constructor":{"prototype":{"a":1}}}',
  )
  const merged = applyOverrides(resource, overrides)
  expect(({} as Record<string, unknown>).a).toBeUndefined()
  expect((merged.barcode as Record<string, unknown>).a).toBeUndefined()
  expect(Object.getPrototypeOf(merged)).toBe(Object.prototype)
  expect(JSON.stringify(merged)).not.toContain('__proto__')
})

test('applying overrides mutates neither the resource nor the overrides', () => {
  const before = structuredClone(resource)
  const overrides = { barcode: { type: 'AZTEC' } }
  applyOverrides(resource, overrides)
  expect(resource).toEqual(before)
  expect(overrides).toEqual({ barcode: { type: 'AZTEC' } })
})

test('converts a text to a number or boolean if Google requires one, and keeps it elsewhere', () => {
  const overrides = {
    loyaltyPoints: { label: '12', balance: { int: '1250' } },
    secondaryLoyaltyPoints: { balance: { double: '-12.5', money: { micros: '12500000' } } },
    merchantLocations: [{ latitude: '47.4', longitude: '8' }],
    disableExpirationNotification: 'true',
    hasUsers: 'false',
    linkedObjectIds: ['true', '1'],
  }
  expect(applyOverrides(resource, overrides)).toMatchObject({
    loyaltyPoints: { label: '12', balance: { int: 1250 } },
    secondaryLoyaltyPoints: { balance: { double: -12.5, money: { micros: '12500000' } } },
    merchantLocations: [{ latitude: 47.4, longitude: 8 }],
    disableExpirationNotification: true,
    hasUsers: false,
    linkedObjectIds: ['true', '1'],
  })
})
