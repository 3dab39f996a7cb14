import { describe, expect, test } from 'vitest'
import { passId, templateId } from '../../../bench/support/many-passes.ts'
import { identifierDigest } from '../../../src/core/rules/crypto/scan-code.ts'
import { planRedemption } from '../../../src/core/rules/redemption/redemption-plan.ts'
import { dialects } from '../../support/databases.ts'
import { type Plan, ROWS, type ScanFilters, useLists } from '../db/query-plans.ts'
import { start } from '../fixtures.ts'

interface List {
  name: string
  filters: ScanFilters
  /** The index condition with which SQLite's plan must find rows of the ledger. */
  leads: string
}

const lists: List[] = [
  { name: 'nothing', filters: {}, leads: 'workspace_id=?' },
  { name: 'passId', filters: { passId: [passId(7)] }, leads: 'pass_id=?' },
  { name: 'projectId', filters: { projectId: [templateId(1)] }, leads: 'project_id=?' },
  { name: 'templateId', filters: { templateId: [templateId(3)] }, leads: 'template_id=?' },
  { name: 'result=accepted', filters: { result: ['accepted'] }, leads: 'result=?' },
  { name: 'result=denied', filters: { result: ['denied'] }, leads: 'result=?' },
  { name: 'resultGroup=denied', filters: { resultGroup: ['denied'] }, leads: 'result=?' },
  { name: 'result=duplicate', filters: { result: ['duplicate'] }, leads: 'reason=?' },
  { name: 'reason', filters: { reason: ['valid'] }, leads: 'reason=?' },
  { name: 'scanContextKey', filters: { scanContextKey: ['context 3'] }, leads: 'scan_context_key=?' },
  { name: 'from', filters: { scanned: { from: new Date(Date.UTC(2026, 6, 1) + 19_000) } }, leads: 'scanned_at>?' },
  { name: 'to', filters: { scanned: { to: new Date(Date.UTC(2026, 6, 1) + 1_000) } }, leads: 'scanned_at<?' },
  {
    name: 'passId and reason',
    filters: { passId: [passId(7)], reason: ['valid'] },
    leads: 'workspace_id=? AND',
  },
]

describe.each(dialects)('on %s', (dialect) => {
  const database = useLists(dialect)

  test.each(lists)('a page of the ledger by $name is found by an index, in its order', async ({ filters, leads }) => {
    for (const plan of await database.plansOfScans(filters)) {
      expectFew(plan, ROWS / 5)
      if (dialect === 'sqlite' && plan.isPage) expect(plan.text).toContain(leads)
    }
  })

  test('a page by several results is read in the order of the ledger', async () => {
    for (const plan of await database.plansOfScans({ result: ['duplicate', 'reversal', 'accepted'] })) {
      expectFew(plan, ROWS / 5)
    }
  })

  test.each([null, templateId(1)])('changes since a list of project %s are read with indexes', async (projectId) => {
    const seen = dialect === 'postgres' ? '9000000:9000009:9000003' : null
    const snapshot = { id: passId(7), projectId, seen, changedFrom: '9000000', changedTo: '9000009' }
    const since = {
      ...snapshot,
      madeAt: new Date(start.getTime() + 3_600_000),
      scannedFrom: '9000000',
      scannedTo: '9000009',
    }
    const until = { ...since, madeAt: new Date(since.madeAt.getTime() + 60_000) }
    const places = ['changed', 'scanned', 'ahead', 'lapsed'] as const
    const plans = await database.plansOfWork(async (reads, workspaceId) => {
      for (const source of places) {
        const after = { source, key: source === 'ahead' ? passId(7) : '9000001', id: passId(7) }
        await reads.snapshotEntries.listChanges(workspaceId, { since, until, after, limit: 20 })
      }
      await reads.snapshots.findRenamedTemplate(workspaceId, since)
      await reads.snapshots.mayRepeat(workspaceId, since)
    })
    expect(plans.length).toBeGreaterThan(10)
    for (const plan of plans) expectFew(plan, 200)
  })

  test('a scan reads by keys, and reads only index ranges of the history of its pass', async () => {
    const digest = identifierDigest('code')
    const plan = planRedemption({
      status: 'ISSUED' as const,
      expiresAt: null,
      realTime: start,
      scanContextKey: 'context 7',
      policy: {
        perPeriod: { unit: 'day', count: 1, timezone: 'Europe/Berlin' },
        windows: [
          { start: '2026-07-01T00:00Z', end: '2026-07-02T00:00Z', maxUses: 1 },
          { end: '2026-07-02T00:00Z', maxUses: 1 },
        ],
      },
    })
    const plans = await database.plansOfWork(async (reads, workspaceId) => {
      await reads.scans.listByExternalRefs(workspaceId, ['ref'])
      await reads.identifiers.listPassIds(workspaceId, [{ digest, projectId: templateId(1) }, { digest }])
      await reads.passes.listForUpdate(workspaceId, [passId(7)])
      await reads.acceptedScans.listHistories(workspaceId, [{ passId: passId(7), ...plan, digest }])
      await reads.acceptedScans.listRangeCounts(workspaceId, [{ passId: passId(7), plan }])
      await reads.acceptedScans.listPlaces(workspaceId, [{ passId: passId(7), at: start }])
      await reads.acceptedScans.listCounts(workspaceId, [passId(7), passId(8)], 'context 7')
      await reads.acceptedScans.isCounted(workspaceId, passId(7))
      await reads.scans.find(workspaceId, passId(7))
      await reads.groups.listAtDoor(workspaceId, [{ groupId: passId(7), scanContextKey: 'context 7' }])
    })
    expect(plans).toHaveLength(11)
    for (const plan of plans) expectFew(plan, 200)
  })

  test('scan figures are counted with indexes, regardless of other projects', async () => {
    const plans = await database.plansOfWork((reads, workspaceId) =>
      reads.scanStats.counts(workspaceId, { scanContextKey: ['context 3'], projectId: [templateId(1)] }),
    )
    expect(plans).toHaveLength(4)
    for (const { fullScans, text } of plans) expect(fullScans, text).toEqual([])
    const scanned = { from: start, to: new Date(start.getTime() + 3_600_000) }
    for (const projectId of [undefined, [templateId(1)]]) {
      const [overTime] = await database.plansOfWork((reads, workspaceId) =>
        reads.scanStats.countsByTime(workspaceId, { projectId, scanned }, [start.getTime()]),
      )
      expect(overTime!.fullScans, overTime!.text).toEqual([])
    }
  })
})

function expectFew(plan: Plan, limit: number): void {
  expect(plan.fullScans, plan.text).toEqual([])
  expect(plan.sorted, plan.text).toBeLessThan(ROWS / 10)
  expect(plan.rowsRead, plan.text).toBeLessThan(limit)
}
