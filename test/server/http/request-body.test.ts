import fc from 'fast-check'
import { expect, test } from 'vitest'
import { describeBodyIssue, requireSaneJson } from '../../../src/server/http/request-body.ts'

const isSane = (json: string) => {
  try {
    requireSaneJson(json)
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'INVALID_FORMAT' })
    return false
  }
}

const nested = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`

test('accepts JSON of up to 64 levels', () => {
  expect([isSane(nested(64)), isSane(nested(66))]).toEqual([true, false])
})

test.each([
  ['numbers', (n: number) => `[${'1,'.repeat(n)}1]`, 190_000, 210_000],
  ['empty lists', (n: number) => `[${'[],'.repeat(n)}1]`, 95_000, 105_000],
  ['properties', (n: number) => `{${'"a":1,'.repeat(n)}"a":1}`, 95_000, 105_000],
])('rejects JSON with too many %s before parsing it', (_, build, few, many) => {
  expect([isSane(build(few)), isSane(build(many))]).toEqual([true, false])
})

test('ignores braces in strings, with any escapes', () => {
  for (const text of ['['.repeat(300_000), ','.repeat(300_000), '\\"[{'.repeat(50_000), '\\\\'.repeat(50_000)]) {
    expect(isSane(JSON.stringify({ [text]: text }))).toBe(true)
    expect(isSane(`[${JSON.stringify(text)},${nested(66)}]`)).toBe(false)
  }
})

test('accepts any JSON of normal size', () => {
  fc.assert(fc.property(fc.json({ maxDepth: 10 }), (json) => isSane(json)))
})

test('names the body in an issue of the whole body', () => {
  const messages = ['Is required', 'Must be an object'].map(
    (message) => describeBodyIssue({ path: [], message }).message,
  )
  expect(messages).toEqual(['The body is required', 'The body must be an object'])
  expect(describeBodyIssue({ path: ['label'], message: 'Is required' }).message).toBe('Is required')
})
