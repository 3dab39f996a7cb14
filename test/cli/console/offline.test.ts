import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openSqliteTables } from '../../../src/cli/console/offline/sqlite-tables.ts'
import { otherReadings } from '../../../src/core/barcode-formats.ts'
import { contract } from '../../../src/core/contract/contract.ts'
import type { RedemptionPolicy } from '../../../src/core/contract/schemas/redemption.ts'
import { newId } from '../../../src/core/ids.ts'
import { identifierDigest } from '../../../src/core/rules/crypto/scan-code.ts'
import { evaluateOffline } from '../../../src/core/rules/door/evaluate-offline.ts'
import type { Attempt } from '../../../src/core/rules/door/outcome.ts'
import type { OfflineDecision } from '../../../src/core/rules/door/own-scans.ts'
import { doorEnglish } from '../../../src/core/rules/redemption/scan-message.ts'
import { TableStore } from '../../../src/door/engine/store/table-store.ts'
import { scannablePass } from '../../server/api/scans/scan-support.ts'
import { makeProject } from '../../server/fixtures.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { temporaryFolder } from '../../support/databases.ts'

// biome-ignore lint/correctness/useHookAtTopLevel: no hook of React
const api = useApi('sqlite')

/**
 * Expects that a console with the server's data makes the same decisions as the server, with the same texts and times.
 */
async function compare(workspace: TestWorkspace, projectId: string, asked: Partial<Attempt>): Promise<string> {
  const attempt: Attempt = {
    payload: null,
    passId: null,
    externalRef: newId(api.now),
    at: api.now,
    scanContextKey: null,
    validityDate: null,
    ...asked,
  }
  const store = new TableStore(await openSqliteTables(join(temporaryFolder(), 'door.db')))
  const list = await workspace.ok(contract.scanner.snapshot, { query: { projectId, limit: 1000 } })
  await store.beginList()
  await store.addToList(list.items)
  await store.finishList(list)
  const digestOf = (text: string) => identifierDigest(text).toString('hex')
  const readings = attempt.payload === null ? [] : otherReadings(attempt.payload)
  const others = readings.map(({ format, message }) => ({ format, digest: digestOf(message) }))
  const code = attempt.payload === null ? null : { digest: digestOf(attempt.payload), others }
  let record: OfflineDecision | undefined
  const outcome = await store.evaluate(attempt, code, (facts) => {
    const station = { projectId, deviceId: undefined, context: {} }
    const language = { ...doorEnglish, zone: 'UTC' }
    const evaluated = evaluateOffline(attempt, { ...facts, station, language })
    record = evaluated.record
    const { externalRef, scannedAt, result: kind } = record
    const entry = {
      externalRef,
      projectId,
      kind,
      scannedAt,
      scanContextKey: null,
      recordedAt: undefined,
      decision: record,
    }
    return { decision: { ...evaluated.outcome, failure: null, isUndone: false, isPending: true }, entry }
  })
  await store.close()

  const { payload, passId, scanContextKey, validityDate } = attempt
  const online = await workspace.ok(contract.scans.create, {
    body: {
      ...(payload !== null && { qrPayload: payload }),
      ...(passId !== null && { passId }),
      ...(scanContextKey !== null && { scanContextKey }),
      ...(validityDate !== null && { validityDate }),
      projectId,
      scannedAt: attempt.at.toISOString(),
    },
  })
  const { result, reasonCode, message, scan, priorScanCount } = online
  expect(outcome).toMatchObject({
    result,
    reasonCode,
    message,
    scannedAt: scan.scannedAt,
    priorScanCount,
    candidates: online.candidates.map((candidate) => ({ passId: candidate.id })),
    group: online.pass?.group ?? null,
  })
  expect(record).toMatchObject({ scannedAt: attempt.at.toISOString(), ...(validityDate && { validityDate }) })
  return reasonCode!
}

test('an offline lookup rejects the same codes as online: unknown, ambiguous, stale, void', async () => {
  const workspace = await api.workspace()
  const { id: projectId } = await makeProject(workspace)
  const moved = await scannablePass(workspace, { projectId, code: 'before' })
  await workspace.ok(contract.passes.update, { params: { id: moved.id }, body: { variables: { code: 'after' } } })
  await scannablePass(workspace, { code: 'before' })
  for (let n = 0; n < 2; n += 1) await scannablePass(workspace, { projectId, code: 'shared' })
  const voided = await scannablePass(workspace, { projectId })
  await workspace.ok(contract.passes.void, { params: { id: voided.id }, body: {} })
  for (const validityDate of [null, '2026-05-01']) {
    const by = (asked: Partial<Attempt>) => compare(workspace, projectId, { ...asked, validityDate })
    expect(await by({ payload: 'nobody' })).toBe('no_match')
    expect(await by({ payload: 'shared' })).toBe('multiple_matches')
    expect(await by({ payload: 'before' })).toBe('stale_identifier')
    expect(await by({ payload: 'before', passId: moved.id })).toBe('stale_identifier')
    expect(await by({ payload: voided.code })).toBe('revoked')
  }
})

test('the used count of a group is the same offline and online, in each context', async () => {
  const workspace = await api.workspace()
  const { id: projectId } = await makeProject(workspace)
  const members: string[] = []
  for (let n = 0; n < 3; n += 1) members.push((await scannablePass(workspace, { projectId })).id)
  const expired = await scannablePass(workspace, { projectId, until: api.now.toISOString() })
  for (const id of [...members, expired.id]) {
    await workspace.ok(contract.passes.update, { params: { id }, body: { groupKey: 'order' } })
  }
  const by = (passId: string, scanContextKey: string | null) =>
    compare(workspace, projectId, { passId, scanContextKey })
  expect(await by(members[0]!, null)).toBe('valid')
  expect(await by(members[0]!, null)).toBe('already_scanned')
  expect(await by(members[1]!, 'vip')).toBe('valid')
  await workspace.ok(contract.passes.void, { params: { id: members[0]! }, body: {} })
  expect(await by(members[2]!, 'vip')).toBe('valid')
  expect(await by(members[2]!, null)).toBe('valid')
})

const day = (n: number) => `2026-03-0${n}`
const windows = [1, 2].flatMap((n) => [
  { start: `${day(n)}T08:00Z`, end: `${day(n)}T11:00Z` },
  { start: `${day(n)}T11:30Z`, end: `${day(n)}T20:00Z` },
])

const policies: [string, RedemptionPolicy | undefined, string | undefined, string[]][] = [
  ['none', undefined, undefined, ['valid', 'already_scanned', 'already_scanned', 'already_scanned', 'valid']],
  ['windows', { windows }, undefined, ['valid', 'already_scanned', 'valid', 'valid', 'valid']],
  [
    'windows with a use each',
    { windows: windows.map((window) => ({ ...window, maxUses: 1 })) },
    undefined,
    ['valid', 'quota_exhausted', 'valid', 'valid', 'quota_exhausted'],
  ],
  [
    'an activation',
    { activation: { basis: 'firstScan', validForHours: 10 } },
    undefined,
    ['valid', 'valid', 'expired', 'expired', 'valid'],
  ],
  ['an interval', { minIntervalMinutes: 30 }, undefined, ['valid', 'cooldown', 'valid', 'valid', 'cooldown']],
  ['an expiry today', { maxUses: 9 }, '2026-03-01T13:00:00Z', ['valid', 'valid', 'expired', 'expired', 'valid']],
]

test.each(policies)(
  'under %s a pass gets the same decisions offline and online, scan after scan',
  async (_, redemption, until, codes) => {
    const workspace = await api.workspace()
    const { id: projectId } = await makeProject(workspace)
    const options = { projectId, ...(redemption && { redemption }), ...(until && { until }) }
    const { id: passId } = await scannablePass(workspace, options)
    const attempts: Partial<Attempt>[] = [
      {},
      {},
      { validityDate: day(2) },
      { validityDate: day(2) },
      { scanContextKey: 'vip' },
    ]
    const seen: string[] = []
    for (const attempt of attempts) seen.push(await compare(workspace, projectId, { passId, ...attempt }))
    expect(seen).toEqual(codes)
  },
)
