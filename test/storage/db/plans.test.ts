import { describe, expect, test } from 'vitest'
import { familyName, passId, templateId } from '../../../bench/support/many-passes.ts'
import { identifierDigest } from '../../../src/core/rules/crypto/scan-code.ts'
import type { PublishedVersion } from '../../../src/storage/templates/template-versions-repository.ts'
import { dialects } from '../../support/databases.ts'
import { newPass, start } from '../fixtures.ts'
import { type Filters, type Plan, ROWS, useLists, ZONE } from './query-plans.ts'

interface List {
  name: string
  filters: Filters
  /** The index condition with which SQLite's plan must find passes. */
  leads: string
}

/** Sorts that continue after the last row of a page. Other sorts use an offset. */
const rowSorts = ['createdAt', 'updatedAt', 'label', 'externalPassId', 'status', 'expiresAt', 'groupKey']
const offsetSorts = ['templateVersion', 'revision']

const sorted = [...rowSorts, ...offsetSorts].flatMap((sortBy) =>
  (['asc', 'desc'] as const).map((sortDir) => ({ sortBy, sortDir })),
)

/** Each filter that has an index. */
const filtered: List[] = [
  { name: 'status', filters: { status: ['VOID'] }, leads: 'status=?' },
  { name: 'status ISSUED', filters: { status: ['ISSUED'] }, leads: 'status=?' },
  { name: 'status EXPIRED', filters: { status: ['EXPIRED'] }, leads: 'status=?' },
  { name: 'status QUEUED', filters: { status: ['QUEUED'] }, leads: 'status=?' },
  { name: 'several statuses', filters: { status: ['VOID', 'FAILED'] }, leads: 'status=?' },
  { name: 'externalPassId', filters: { externalPassId: ['ext-5'] }, leads: 'external_pass_id=?' },
  { name: 'externalPassIds', filters: { externalPassId: ['ext-5', 'ext-6'] }, leads: 'external_pass_id=?' },
  { name: 'groupKey', filters: { groupKey: ['order 5'] }, leads: 'group_key_beginning=?' },
  { name: 'search', filters: { search: [familyName(777)] }, leads: 'pass_search' },
  { name: 'no project', filters: { projectId: ['null'] }, leads: 'project_id=?' },
  { name: 'projectId', filters: { projectId: [templateId(1)] }, leads: 'project_id=?' },
  { name: 'templateId', filters: { templateId: [templateId(3)] }, leads: 'template_id=?' },
  { name: 'a common variable', filters: { variable: [pair('tier', '3')] }, leads: 'value=?' },
  { name: 'a rare variable', filters: { variable: [pair('seat', '777')] }, leads: 'value=?' },
  { name: 'a rare variable of a common value', filters: { variable: [pair('seat', '3')] }, leads: 'value=?' },
  { name: 'either value', filters: { variable: [pair('seat', '3'), pair('seat', '4')] }, leads: 'value=?' },
  { name: 'both variables', filters: { variable: [pair('seat', '13'), pair('tier', '3')] }, leads: 'value=?' },
  { name: 'label', filters: { label: [`${familyName(777)} 777`] }, leads: 'label_beginning=?' },
  { name: 'label contains', filters: { label: [familyName(777)], labelMatch: ['contains'] }, leads: 'pass_search' },
  { name: 'revision', filters: { revision: [{ comparison: '=', value: 3 }] }, leads: 'revision=?' },
  {
    name: 'templateVersion',
    filters: { templateVersion: [{ comparison: '=', value: 3 }] },
    leads: 'template_version=?',
  },
  { name: 'created since', filters: { created: { from: new Date(Date.UTC(2026, 0, 1) + 19_000) } }, leads: 'id>?' },
  { name: 'created until', filters: { created: { to: new Date(Date.UTC(2026, 0, 1) + 1_000) } }, leads: 'id<?' },
]

/** The filters whose totals are read from counters. */
const keptCounts = new Set([
  'status',
  'status QUEUED',
  'no project',
  'projectId',
  'templateId',
  'several statuses',
  'a filter under another sort',
])

/**
 * Filters without a separate index. Passes are read in the order of the sort until the page is full, which is slow
 * only if few passes match.
 */
const walked: { name: string; filters: Filters; why: string }[] = [
  { name: 'a short term', filters: { search: ['zx'] }, why: 'fewer than three characters make no trigram' },
  {
    name: 'a bound',
    filters: { revision: [{ comparison: '>=', value: 2 }] },
    why: 'its index has no order within a bound',
  },
  {
    name: 'a prefix',
    filters: { label: ['ban'], labelMatch: ['prefix'] },
    why: 'its index has no order within it either',
  },
  { name: 'validOn', filters: { validOn: ['2027-01-01'] }, why: 'it also takes passes without windows' },
  { name: 'redeemed', filters: { redeemed: [true] }, why: 'it reads another table' },
  { name: 'not redeemed', filters: { redeemed: [false] }, why: 'it reads another table' },
  {
    name: 'a filter under another sort',
    filters: { status: ['VOID'], sortBy: 'label' },
    why: 'an index has one order',
  },
  {
    name: 'the door list',
    filters: { status: ['ISSUED'], validOn: ['2027-01-01'], redeemed: [false], redeemedContext: ['2027-01-01'] },
    why: 'it uses validOn and redeemed',
  },
]

describe.each(dialects)('on %s', (dialect) => {
  const lists = useLists(dialect)

  test.each(sorted)('a page of passes by $sortBy $sortDir is read in the order of its index', async (sort) => {
    const plans = await lists.plansOf('passes', sort)
    for (const plan of plans) expectFew(plan)
    if (dialect === 'sqlite' && rowSorts.includes(sort.sortBy)) {
      expect(plans.filter(({ isPage }) => isPage)[1]?.text).toMatch(/\(workspace_id=\? AND (\w+|\(\w+,id\))[<>]/)
    }
  })

  test.each(filtered)('a page of passes by $name is found by an index', async ({ filters, leads }) => {
    for (const plan of await lists.plansOf('passes', filters)) {
      expectFew(plan)
      if (dialect === 'sqlite' && plan.isPage) expect(plan.text).toContain(leads)
    }
  })

  if (dialect === 'sqlite') {
    // Request a page beyond the end, which requires a count.
    test.each([...filtered, ...walked])('counting by $name reads no passes of other workspaces', async (list) => {
      const counts = (await lists.plansOf('passes', list.filters, ROWS)).filter(({ isCount }) => isCount)
      expect(counts).toHaveLength(keptCounts.has(list.name) ? 0 : 1)
      for (const count of counts) expect(count.fullScans, count.text).toEqual([])
    })
  }

  test.each([...filtered, ...walked].filter(({ filters }) => !filters.status && !filters.sortBy))(
    'a chunk of a template by $name reads only the passes of the chunk',
    async ({ filters }) => {
      const { plan, range, end } = await lists.planOfChunk(templateId(3), filters)
      expectFew(plan)
      if (dialect !== 'sqlite') return
      expect(plan.text).toContain('template_id=? AND id>? AND id<?')
      expect(plan.text).not.toContain('pass_search')
      expect(end).toBe(range.upTo)
    },
  )

  // Only SQLite is tested, because PostgreSQL uses statistics and can read all passes if that is faster.
  if (dialect === 'sqlite') {
    test.each(walked)(
      'a page of passes by $name is read in index order without a sort, as $why',
      async ({ filters }) => {
        for (const plan of await lists.plansOf('passes', filters)) {
          expect([plan.fullScans, plan.sorted], plan.text).toEqual([[], 0])
        }
      },
    )
  }

  test('a sort by template name sorts all passes, since the names are in another table', async () => {
    const plans = await lists.plansOf('passes', { sortBy: 'templateName' })
    for (const plan of plans.filter(({ isPage }) => isPage)) expect(plan.sorted).toBe(ROWS)
  })

  test.each(['projects', 'templates'] as const)('a page of %s is read in the order of its index', async (name) => {
    for (const sortBy of ['createdAt', 'updatedAt', 'name']) {
      for (const sortDir of ['asc', 'desc'] as const) {
        const plans = await lists.plansOf(name, { sortBy, sortDir })
        for (const plan of plans.filter(({ isPage }) => isPage)) {
          expect(plan.fullScans, `${sortBy} ${sortDir}: ${plan.text}`).toEqual([])
          expect(plan.sorted, `${sortBy} ${sortDir}: ${plan.text}`).toBeLessThan(100)
        }
      }
    }
  })

  test.each([null, templateId(1)])('a page of the door list of project %s reads only its passes', async (project) => {
    for (const plan of await lists.plansOfDoorList(project)) {
      expectFew(plan)
      expect(plan.sorted, plan.text).toBeLessThan(100)
    }
  })

  test('replacing and removing the search texts of a pass reads only its rows', async () => {
    const version = { id: templateId(1), templateId: templateId(1), version: 3, projectId: null } as PublishedVersion
    const { id: _, ...pass } = newPass(version)
    const digest = identifierDigest('another code')
    const plans = await lists.plansOfWork((store, workspaceId) =>
      store.transaction(async ({ passes, erasure }) => {
        await passes.update(workspaceId, passId(7), { ...pass, identifierDigest: digest, status: 'ISSUED' }, start)
        await erasure.count(workspaceId, passId(8))
        await erasure.erase(workspaceId, passId(8), digest, start)
      }),
    )
    for (const table of ['pass_identifiers', 'pass_variables', 'pass_windows']) {
      const touching = plans.filter(({ text }) => text.includes(table))
      expect(touching.length).toBeGreaterThan(0)
      for (const { fullScans, text } of touching) expect(fullScans, text).not.toContain(table)
    }
  })

  test('the occupancy of a zone reads only the movements of its range', async () => {
    const range = { zoneId: ZONE, from: new Date(ROWS - 100), to: new Date(ROWS - 50), step: 10 }
    const plans = await lists.plansOfWork(({ occupancies }, workspaceId) => occupancies.find(workspaceId, range))
    expect(plans).toHaveLength(4)
    for (const { text, fullScans, rowsRead } of plans) {
      expect(fullScans, text).toEqual([])
      expect(rowsRead, text).toBeLessThan(200)
      const searches = text.split('\n').filter((line) => /SEARCH (zone_movements|zone_adjustments) /.test(line))
      for (const search of searches) expect(search).toMatch(/COVERING INDEX .*\bat>/)
    }
  })

  test('the last movement of a pass is found without its earlier movements', async () => {
    const plans = await lists.plansOfWork(({ movements }, workspaceId) =>
      movements.listCurrent(workspaceId, [passId(1)]),
    )
    expect(plans).toHaveLength(1)
    for (const { text, fullScans, rowsRead } of plans) {
      expect(fullScans, text).toEqual([])
      expect(rowsRead, text).toBeLessThan(50)
    }
  })

  test('the sweep reads only expired passes', async () => {
    for (const plan of await lists.plansOfSweep()) {
      expect(plan.fullScans, plan.text).toEqual([])
      expect(plan.text).toContain('passes_expiring')
    }
  })
})

function expectFew(plan: Plan): void {
  // A count can read most of a table, because it reads each counted row.
  if (plan.isCount) return
  expect(plan.fullScans, plan.text).toEqual([])
  expect(plan.sorted, plan.text).toBeLessThan(ROWS / 10)
  expect(plan.rowsRead, plan.text).toBeLessThan(ROWS / 5)
}

function pair(name: string, value: string) {
  return { name, value }
}
