import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import { PassStatus } from '../../../../src/core/contract/schemas/common.ts'
import { PassFilter, parsePassFilter } from '../../../../src/core/contract/schemas/pass-filter.ts'
import { createMatcher } from '../../../../src/storage/passes/list/pass-conditions.ts'
import { findRange, matchingInRange } from '../../../../src/storage/passes/list/pass-walk.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects } from '../../../support/databases.ts'
import { times } from '../../../support/long.ts'
import { publishedTemplate } from '../../fixtures.ts'
import {
  contexts,
  deletePasses,
  externalPassId,
  insertListed,
  type ListedPass,
  labels,
  makeTemplates,
  passFacts,
  type Template,
  variableNames,
  variableValues,
} from './pass-list-data.ts'
import { filterPasses, type Query, sortPasses } from './pass-list-reference.ts'

const { list } = contract.passes

const PASSES = 24

/** Parts of existing labels in upper and lower case, and characters that are special to patterns and search engines. */
const terms = fc.oneof(
  fc
    .tuple(fc.constantFrom(...labels, ...PassStatus.options, externalPassId(2), externalPassId(3)), fc.nat(), fc.nat(5))
    .map(([text, start, length]) => {
      const letters = [...text]
      return letters.slice(start % letters.length, (start % letters.length) + 1 + length).join('')
    })
    .chain((text) => fc.constantFrom(text, text.toUpperCase(), text.toLowerCase())),
  fc.constantFrom(
    '%',
    '_',
    '\\',
    '"',
    '""',
    '*',
    '^',
    ':',
    '(',
    ')',
    '-',
    '%%%',
    '___',
    '\\%_',
    '"""',
    '***',
    'a*',
    '{x}',
  ),
  fc.constantFrom('ext-1', 'ada lovelace', '😀'.repeat(255), 'strasse', 'ssued', 'ΔΟΣ', 'δος', 'OR', 'NOT x', 'émile'),
)

const some = <T>(values: fc.Arbitrary<T>, maxLength = 3) => fc.array(values, { minLength: 1, maxLength })
const numbers = fc
  .tuple(fc.constantFrom('', 'gte:', 'lte:'), fc.oneof(fc.nat(5), fc.constantFrom(2 ** 31, 999_999_999_999_999)))
  .map(([bound, number]) => `${bound}${number}`)
const moments = fc.constantFrom(
  ...['2026-02-28T23:59:59.999Z', '2026-03-01T00:00Z', '2026-03-01T00:00:00.001Z', '2026-03-01T01:00:00+01:00'],
  ...['1969-01-01T00:00Z', '9999-12-31T23:59:59Z', '2026-03-01T11:59:59.999Z'],
)
const variables = fc
  .tuple(fc.constantFrom(...variableNames), fc.constantFrom(...variableValues))
  .map(([name, value]) => `${name}:${typeof value === 'string' ? value : JSON.stringify(value)}`)
  // A lone surrogate cannot be sent in a URL.
  .filter((pair) => pair.isWellFormed())

function filterParts(templates: Template[]): fc.Arbitrary<Query>[] {
  const projectIds = templates.map(({ projectId }) => projectId ?? 'null')
  return [
    fc.record({ status: some(fc.constantFrom(...PassStatus.options)) }),
    fc.record({ externalPassId: some(fc.nat(PASSES).map(externalPassId)) }),
    fc.record({ search: some(terms, 2) }),
    fc.record({ projectId: some(fc.constantFrom(...projectIds)) }),
    fc.record({ templateId: some(fc.constantFrom(...templates.map(({ id }) => id))) }),
    fc.record({ variable: some(variables, 5) }),
    fc.record({
      validOn: some(fc.constantFrom('2026-02-28', '2026-03-01', '2026-03-02', '2026-03-03', '2031-01-01'), 2),
    }),
    fc.record({ redeemed: some(fc.constantFrom('true', 'false'), 2) }),
    fc.record({
      redeemed: some(fc.constantFrom('true', 'false')),
      redeemedContext: some(fc.constantFrom(...contexts), 2),
    }),
    fc.record(
      {
        installed: some(fc.constantFrom('true', 'false'), 2),
        platform: some(fc.constantFrom('apple', 'google'), 2),
        stale: some(fc.constantFrom('true', 'false'), 2),
      },
      { requiredKeys: [] },
    ),
    fc.record({ label: some(fc.constantFrom(...labels)) }),
    fc.record({ label: some(terms), labelMatch: some(fc.constantFrom('exact', 'prefix', 'contains')) }),
    fc.record({ revision: some(numbers) }),
    fc.record({ templateVersion: some(numbers) }),
    fc.record({ createdFrom: some(moments, 2), createdTo: some(moments) }, { requiredKeys: [] }),
    fc.record({ createdSince: some(moments), createdUntil: some(moments, 2) }, { requiredKeys: ['createdSince'] }),
  ]
}

/** One to three filters together. */
function filters(templates: Template[]): fc.Arbitrary<Query> {
  const parts = fc.shuffledSubarray(filterParts(templates), { minLength: 1, maxLength: 3 })
  return parts.chain((chosen) => fc.tuple(...chosen)).map((chosen) => asOneWindow(Object.assign({}, ...chosen)))
}

/** Removes one spelling of a bound, because requests with both are rejected. */
function asOneWindow({ createdSince, createdUntil, ...query }: Query): Query {
  const isFree = query.createdFrom === undefined && query.createdTo === undefined
  return { ...query, ...(isFree && createdSince && { createdSince }), ...(isFree && createdUntil && { createdUntil }) }
}

const sorts = fc.record({
  sortBy: fc.constantFrom(...list.query.shape.sortBy.unwrap().options),
  sortDir: fc.constantFrom('asc', 'desc'),
})

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  let first: TestWorkspace
  let templates: Template[]
  beforeAll(async () => {
    first = await api.workspace()
    templates = await makeTemplates(first)
  })

  /** Reads every page of a list and checks the counts and the cursor of each page. Returns the IDs of the passes. */
  async function walk(workspace: TestWorkspace, query: Query, limit: number) {
    const ids: string[] = []
    let cursor: string | null | undefined
    do {
      const answer = await workspace.call(list, { query: { ...query, limit, ...(cursor && { cursor }) } as never })
      expect(answer.status, answer.text).toBe(200)
      const page = answer.body as { items: ListedPass[]; total: number; offset: number; nextCursor: string | null }
      expect(page).toMatchObject({ limit, offset: ids.length, hasMore: page.nextCursor !== null })
      ids.push(...page.items.map(({ id }) => id))
      if (page.nextCursor === null) expect(page.total).toBe(ids.length)
      else expect(page.nextCursor.length).toBeLessThanOrEqual(512)
      cursor = page.nextCursor
    } while (cursor)
    return ids
  }

  /** Reads the passes of a template that match a filter of a request body, in chunks. Returns their IDs. */
  async function walkTemplate(templateId: string, query: Query, chunk: number) {
    const db = api.database.reader
    const matcher = await createMatcher(db, first.id, parsePassFilter(PassFilter.parse(query)), api.now)
    const ids: string[] = []
    let after: string | null = null
    do {
      const range = await findRange(db, first.id, { templateId }, after, chunk)
      const matching = matchingInRange(db, first.id, { templateId }, range, matcher)
      ids.push(...(await matching.orderBy('passes.id').pluck('passes.id')))
      after = range.upTo
    } while (after !== null)
    return ids
  }

  test('any filters, sorts, and page sizes return the same as a slow reference', async () => {
    const facts = fc.array(passFacts(templates), { minLength: 1, maxLength: PASSES })
    const walks = fc.array(fc.tuple(filters(templates), sorts, fc.integer({ min: 2, max: 30 })), {
      minLength: 6,
      maxLength: 12,
    })
    await fc.assert(
      fc.asyncProperty(facts, walks, async (given, asked) => {
        await deletePasses(first)
        const passes = await insertListed(
          first,
          given.map((pass, n) => ({ ...pass, externalPassId: externalPassId(n) })),
        )
        for (const [query, { sortBy, sortDir }, limit] of asked) {
          const expected = sortPasses(filterPasses(passes, query), sortBy, sortDir)
          const shown = await walk(first, { ...query, sortBy: [sortBy], sortDir: [sortDir] }, limit)
          expect(shown, JSON.stringify(query)).toEqual(expected.map(({ id }) => id))
        }
      }),
      { numRuns: times(4, 40) },
    )
  })

  test('pages from an offset count a pass once, regardless of its scans', async () => {
    await deletePasses(first)
    const facts = fc.sample(passFacts(templates), { numRuns: 1, seed: 1 })[0]!
    const scans = ['day-1', 'day-1', 'day-2']
    const given = [0, 1, 2].map((n) => ({
      ...facts,
      template: templates[0]!,
      externalPassId: externalPassId(n),
      scans,
    }))
    const passes = await insertListed(first, given)
    for (const sortBy of ['templateVersion', 'revision', 'templateName'] as const) {
      const shown = await walk(first, { redeemed: ['true'], sortBy: [sortBy] }, 1)
      expect(shown.sort()).toEqual(passes.map(({ id }) => id).sort())
    }
  })

  test('each single filter returns the same as a slow reference, in a list and in chunks of a template', async () => {
    const templateId = templates[0]!.id
    for (const part of filterParts(templates)) {
      const facts = fc.array(passFacts(templates), { minLength: PASSES, maxLength: PASSES })
      await fc.assert(
        fc.asyncProperty(facts, fc.array(part, { minLength: 10, maxLength: 10 }), async (given, queries) => {
          await deletePasses(first)
          const passes = await insertListed(
            first,
            given.map((pass, n) => ({ ...pass, externalPassId: externalPassId(n) })),
          )
          for (const query of queries) {
            const expected = sortPasses(filterPasses(passes, query), 'createdAt', 'desc').map(({ id }) => id)
            expect(await walk(first, query, 100), JSON.stringify(query)).toEqual(expected)
            if (query.status) continue
            const isOfTemplate = new Set(passes.filter((pass) => pass.template.id === templateId).map(({ id }) => id))
            const matching = expected.filter((id) => isOfTemplate.has(id)).reverse()
            expect(await walkTemplate(templateId, query, 5), JSON.stringify(query)).toEqual(matching)
          }
        }),
        { numRuns: times(1, 10) },
      )
    }
  })

  test('a list shows nothing of another workspace, with any filter', async () => {
    const other = await api.workspace()
    const facts = fc.sample(passFacts(templates), PASSES)
    await deletePasses(first)
    await insertListed(
      first,
      facts.map((pass, n) => ({ ...pass, externalPassId: externalPassId(n) })),
    )
    for (const query of [{}, ...fc.sample(filters(templates), 20)]) expect(await walk(other, query, 100)).toEqual([])
  })

  test('templateId takes every version of the template, and a deleted one', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const [pass] = await insertListed(workspace, [
      {
        ...fc.sample(passFacts([{ id: template.id, name: 'Ticket', projectId: null }]), 1)[0]!,
        externalPassId: 'x',
        templateVersion: 2,
      },
    ])
    await workspace.ok(contract.templates.delete, { params: { id: template.id } })
    expect(await walk(workspace, { templateId: [template.id] }, 10)).toEqual([pass!.id])
  })
})
