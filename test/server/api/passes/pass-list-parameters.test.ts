import { beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects } from '../../../support/databases.ts'
import { makePass, publishedTemplate } from '../../fixtures.ts'

const { list } = contract.passes

type Query = Record<string, unknown>

const numbers = (count: number) => Array.from({ length: count }, (_, n) => `${n}`)

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  let workspace: TestWorkspace

  beforeAll(async () => {
    workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    for (let n = 0; n < 7; n += 1) await makePass(workspace, template.id, { variables: { n } })
  })

  const page = (query: Query) => workspace.ok(list, { query: query as never })
  const refused = (query: Query) => workspace.refused(list, { query: query as never })

  test.each([
    ['labelMatch', { labelMatch: 'prefix' }],
    ['redeemedContext', { redeemedContext: 'day-1' }],
    ['createdSince', { createdFrom: '2026-01-01T00:00Z', createdSince: '2026-01-01T00:00Z' }],
    ['createdUntil', { createdTo: '2026-01-01T00:00Z', createdUntil: '2027-01-01T00:00Z' }],
    ['variable', { variable: ['a:1', 'b:2', 'c:3', 'd:4', 'e:5', 'f:6'] }],
    ['variable', { variable: ['a:1', 'a:2', 'a:3', 'a:4', 'a:5', 'a:6'] }],
    ['variable', { variable: 'tier' }],
    ['variable', { variable: ':gold' }],
    ['variable', { variable: '' }],
    ['color', { color: 'red' }],
    ['Status', { Status: 'ISSUED' }],
    ['status', { status: 'issued' }],
    ['status', { status: ['ISSUED', 'LOST'] }],
    ['status', { status: '' }],
    ['search', { search: '' }],
    ['search', { search: 'x'.repeat(256) }],
    ['search', { search: 'a\0b' }],
    ['label', { label: '' }],
    ['labelMatch', { label: 'a', labelMatch: 'regex' }],
    ['projectId', { projectId: 'none' }],
    ['projectId', { projectId: '' }],
    ['templateId', { templateId: 'null' }],
    ['validOn', { validOn: '2026-02-29' }],
    ['validOn', { validOn: '2026-03-01T00:00Z' }],
    ['redeemed', { redeemed: 'yes' }],
    ['installed', { installed: 'maybe' }],
    ['platform', { platform: 'samsung' }],
    ['stale', { stale: '' }],
    ['redeemedContext', { redeemed: 'true', redeemedContext: 'x'.repeat(129) }],
    ['revision', { revision: 'gt:1' }],
    ['revision', { revision: '-1' }],
    ['revision', { revision: '1.5' }],
    ['revision', { revision: 'lte:9007199254740992' }],
    ['revision', { revision: '99999999999999999' }],
    ['templateVersion', { templateVersion: 'latest' }],
    ['createdFrom', { createdFrom: '2026-03-01' }],
    ['createdFrom', { createdFrom: 'yesterday' }],
    ['sortBy', { sortBy: 'id' }],
    ['sortBy', { sortBy: ['label', 'status'] }],
    ['sortDir', { sortDir: 'up' }],
    ['limit', { limit: 0 }],
    ['limit', { limit: 101 }],
    ['offset', { offset: -1 }],
    ['label', { label: numbers(21) }],
    ['label', { label: numbers(6), labelMatch: 'contains' }],
    ['label', { label: numbers(6), labelMatch: ['exact', 'contains'] }],
    ['search', { search: numbers(6) }],
    ['externalPassId', { externalPassId: numbers(21) }],
    ['revision', { revision: numbers(21) }],
  ])('rejects %s in %j', async (path, query) => {
    const rejection = await refused(query)
    expect(rejection).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR' })
    const { issues } = rejection.details as { issues: { path: (string | number)[] }[] }
    expect(issues.map((issue) => issue.path[0])).toContain(path)
  })

  test('the bounds of a window can have different spellings', async () => {
    const answer = await page({ createdFrom: '2020-01-01T00:00Z', createdUntil: '2030-01-01T00:00Z' })
    expect(answer.total).toBe(7)
  })

  test('compares numbers up to the greatest in responses', async () => {
    const greatest = Number.MAX_SAFE_INTEGER
    expect((await page({ revision: `lte:${greatest}`, templateVersion: `lte:${greatest}` })).total).toBe(7)
    for (const revision of [`${greatest}`, `gte:${greatest}`]) expect((await page({ revision })).total).toBe(0)
  })

  test('names a single value without a list index', async () => {
    const pathsOf = async (query: Query) => {
      const { issues } = (await refused(query)).details as { issues: { path: (string | number)[] }[] }
      return issues.map(({ path }) => path)
    }
    expect(await pathsOf({ status: 'LOST', redeemed: 'yes', limit: 0 })).toEqual([['limit'], ['status'], ['redeemed']])
    expect(await pathsOf({ status: ['VOID', 'LOST'], x: 1 })).toEqual([['status', 1], ['x']])
  })

  test('a cursor resumes under the same filters, in any order or spelling', async () => {
    const [from, to] = ['2020-01-01T00:00Z', '2030-01-01T00:00:00.000Z']
    const query = { status: ['QUEUED', 'VOID'], variable: ['n:1', 'n:2', 'n:3'], createdFrom: from, limit: 1 }
    const first = await page(query)
    const other = { status: ['VOID', 'QUEUED', 'VOID'], variable: ['n:3', 'n:1', 'n:2'], limit: 1 }
    const second = await page({ ...other, createdSince: '2020-01-01T01:00:00+01:00', cursor: first.nextCursor })
    expect([second.offset, second.total, second.items.length]).toEqual([1, 3, 1])
    for (const changed of [{ createdFrom: to }, { createdFrom: from, createdTo: to }, {}]) {
      expect(await refused({ ...other, ...changed, cursor: first.nextCursor })).toMatchObject({ status: 400 })
    }
  })

  test('accepts up to twenty values of a parameter, and five for text search', async () => {
    const none = numbers(20).map((n) => `${n}-ada`)
    for (const name of ['label', 'externalPassId']) expect((await page({ [name]: none })).total).toBe(0)
    expect((await page({ label: none, labelMatch: 'prefix' })).total).toBe(0)
    expect((await page({ label: none.slice(15), labelMatch: 'contains' })).total).toBe(0)
    expect((await page({ search: [...none.slice(16), 'lovelace'] })).total).toBe(7)
  })

  test('accepts five variable filters', async () => {
    expect((await page({ variable: ['n:1', 'n:2', 'n:3', 'n:4', 'n:5'] })).total).toBe(5)
  })
})
