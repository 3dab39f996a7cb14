import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PassStatus } from '../../../../src/core/contract/schemas/common.ts'
import { changedFields, mergeVariables, statusAfterUpdate } from '../../../../src/core/rules/pass/pass-rules.ts'

const names = fc.oneof(fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', '1'), fc.string())
const variables = fc.dictionary(names, fc.jsonValue({ maxDepth: 1 }))

test('a merge keeps supplied values, then stored ones, and removes names supplied as null', () => {
  fc.assert(
    fc.property(variables, variables, (stored, supplied) => {
      const merged = mergeVariables(stored, supplied)
      for (const name of new Set([...Object.keys(stored), ...Object.keys(supplied), ...Object.keys(merged)])) {
        const source = Object.hasOwn(supplied, name) ? supplied : stored
        const expected = source === supplied && supplied[name] === null ? undefined : heldBy(source, name)
        expect(heldBy(merged, name)).toEqual(expected)
      }
    }),
  )
})

test('a merge does not change its inputs and is idempotent', () => {
  fc.assert(
    fc.property(variables, variables, (stored, supplied) => {
      const before = [structuredClone(stored), structuredClone(supplied)]
      const merged = mergeVariables(stored, supplied)
      expect(mergeVariables(merged, supplied)).toEqual(merged)
      expect([stored, supplied]).toEqual(before)
    }),
  )
})

test('null inside a value is a value', () => {
  expect(mergeVariables({ a: 1 }, { a: [null], b: { c: null } })).toEqual({ a: [null], b: { c: null } })
})

test.each([
  [{}, []],
  [{ label: true }, ['label']],
  [{ variables: true }, ['variables', 'redemption', 'expiresAt']],
  [{ version: true }, ['templateVersionId', 'variables', 'redemption', 'expiresAt']],
  [{ variables: true, version: true }, ['templateVersionId', 'variables', 'redemption', 'expiresAt']],
  [{ label: true, variables: true }, ['label', 'variables', 'redemption', 'expiresAt']],
  [{ label: true, version: true }, ['label', 'templateVersionId', 'variables', 'redemption', 'expiresAt']],
])('a writer of %j reports %j', (written, fields) => {
  const reported = changedFields({ label: false, variables: false, version: false, ...written })
  expect(reported.toSorted()).toEqual(fields.toSorted())
})

const at = new Date('2026-07-01T12:00:00.000Z')
const past = new Date(at.getTime() - 1)
const future = new Date(at.getTime() + 1)

test('a failed pass is queued again, regardless of its expiry', () => {
  for (const expiresAt of [null, past, future]) expect(statusAfterUpdate('FAILED', expiresAt, at)).toBe('QUEUED')
})

test('an expired pass is issued again exactly when it does not expire or expires later', () => {
  expect(statusAfterUpdate('EXPIRED', null, at)).toBe('ISSUED')
  expect(statusAfterUpdate('EXPIRED', future, at)).toBe('ISSUED')
  expect(statusAfterUpdate('EXPIRED', at, at)).toBe('EXPIRED')
  expect(statusAfterUpdate('EXPIRED', past, at)).toBe('EXPIRED')
})

test('an update changes no other status', () => {
  for (const status of PassStatus.exclude(['FAILED', 'EXPIRED']).options) {
    for (const expiresAt of [null, past, future]) expect(statusAfterUpdate(status, expiresAt, at)).toBe(status)
  }
})

function heldBy(object: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined
}
