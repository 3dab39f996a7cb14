import { expect, test } from 'vitest'
import { PassFilter, parsePassFilter } from '../../../../src/core/contract/schemas/pass-filter.ts'
import { PassListQuery } from '../../../../src/core/contract/schemas/pass-list-query.ts'
import { parseAs } from '../../../../src/core/errors.ts'
import { passFilterNames } from '../../../../src/core/rules/lists/pass-filters.ts'

function issuesOf(schema: typeof PassFilter | typeof PassListQuery, value: unknown) {
  const parsed = parseAs(schema, value)
  return 'issues' in parsed ? parsed.issues : []
}

test('accepts every filter of the list of passes, and no other parameter of the list', () => {
  const others = ['limit', 'cursor', 'offset', 'sortBy', 'sortDir', 'status', 'include']
  const filters = Object.keys(PassListQuery.shape).filter((name) => !others.includes(name))
  expect(Object.keys(PassFilter.shape)).toEqual(filters)
  expect(passFilterNames).toEqual(filters)
  for (const name of others) {
    expect(issuesOf(PassFilter, { [name]: 'ISSUED' })).toEqual([{ path: [name], message: 'Unknown property' }])
  }
})

test.each<Record<string, string | string[]>>([
  { templateId: ['x', '01985f0c-7d04-7a6b-9c35-1b2d3e4f5a06', 'y'] },
  { variable: ['tier:gold', 'no colon', 'a:1', 'b:2', 'c:3', 'd:4'] },
  { installed: ['maybe', 'true'] },
  { labelMatch: ['prefix'] },
  { redeemedContext: ['day'] },
  { label: ['a', 'b', 'c', 'd', 'e', 'f'], labelMatch: ['contains'] },
  { createdFrom: ['2026-01-01T00:00:00Z'], createdSince: ['2026-01-01T00:00:00Z'] },
  { revision: ['gt:3', '9007199254740999'] },
  { search: ['', 'x'.repeat(256)] },
  { platform: ['windows', 'apple'], stale: ['yes', 'true'] },
])('reports the same issues as the list: %j', (filter) => {
  const issues = issuesOf(PassListQuery, filter)
  expect(issues).not.toEqual([])
  expect(issuesOf(PassFilter, filter)).toEqual(issues)
})

test('names a single value without an index, and accepts only texts', () => {
  expect(issuesOf(PassFilter, { installed: 'maybe', platform: ['apple', 'x'] })).toEqual([
    { path: ['installed'], message: 'Must be true or false' },
    { path: ['platform', 1], message: 'Must be one of apple, google' },
  ])
  const path = ['installed']
  for (const value of [true, 5, null, {}, ['true', true]]) {
    const message = 'Must be a string or a list of strings'
    expect(issuesOf(PassFilter, { installed: value })).toEqual([{ path, message }])
  }
  expect(issuesOf(PassFilter, { installed: [] })).toEqual([{ path, message: 'Must not be empty' }])
  expect(issuesOf(PassFilter, JSON.parse('{"__proto__": "x"}'))).not.toEqual([])
})

test('keeps a filter as it was given, and parses it to conditions', () => {
  const filter = { variable: 'tier: gold', installed: ['true'], createdSince: '2026-01-01T00:00:00Z' }
  expect(PassFilter.parse(filter)).toEqual(filter)
  expect(parsePassFilter(filter)).toEqual({
    variable: [{ name: 'tier', value: ' gold' }],
    installed: [true],
    created: { from: new Date('2026-01-01T00:00:00Z') },
  })
})
