import { describe, expect, test } from 'vitest'
import type { RedemptionPolicy } from '../../../src/core/contract/schemas/redemption.ts'
import type { ScanResponse } from '../../../src/core/contract/schemas/scan-shapes.ts'
import { dialects, type TestDialect } from '../../support/databases.ts'
import { times } from '../../support/long.ts'
import { inspect, issuedPass } from '../support/passes.ts'
import { sharedServers } from '../support/server.ts'

const SCANS = times(30, 200)

/** The number of scans in later tests of the same mechanism. */
const FEWER = times(12, 40)

const REPLAYS = times(20, 100)
const REVERSALS = times(5, 20)
const RENEWALS = times(10, 300)

/**
 * On PostgreSQL two servers, so that no state in a process can order the scans. On SQLite one, because all share a
 * file.
 */
function shareServers(dialect: TestDialect) {
  const shared = sharedServers(dialect === 'sqlite' ? 1 : 2, { dialect })
  return async () => {
    const servers = await shared()
    const clients = servers.map(({ client }) => client)
    const { workspaceId } = await clients[0]!.tokens.current()
    return { clients, rows: inspect(servers[0]!.database, workspaceId).rows }
  }
}

interface Race {
  name: string
  policy?: RedemptionPolicy
  scans: number
  accepted: number
  rejection: string
  isVoidAfter?: true
}

const window = { start: '2020-01-01T00:00:00Z', end: '2120-01-01T00:00:00Z' }

const races: Race[] = [
  { name: 'a pass without a policy', scans: FEWER, accepted: 1, rejection: 'already_scanned' },
  { name: 'a single-use pass', scans: SCANS, policy: { maxUses: 1 }, accepted: 1, rejection: 'quota_exhausted' },
  {
    name: 'a window of 5 uses',
    scans: SCANS,
    policy: { windows: [{ ...window, maxUses: 5 }] },
    accepted: 5,
    rejection: 'quota_exhausted',
  },
  {
    name: '3 uses a month',
    scans: SCANS,
    policy: { perPeriod: { unit: 'month', count: 3, timezone: 'Europe/Berlin' } },
    accepted: 3,
    rejection: 'quota_exhausted',
  },
  { name: 'an interval', scans: FEWER, policy: { minIntervalMinutes: 60 }, accepted: 1, rejection: 'cooldown' },
  {
    name: 'two windows of one use that overlap',
    scans: FEWER,
    policy: {
      windows: [
        { ...window, maxUses: 1 },
        { end: window.end, maxUses: 1 },
      ],
    },
    accepted: 2,
    rejection: 'quota_exhausted',
  },
  {
    name: 'a pass that becomes void with its last use',
    scans: FEWER,
    policy: { maxUses: 1, autoVoidOnExhaustion: true },
    accepted: 1,
    rejection: 'revoked',
    isVoidAfter: true,
  },
]

describe.each(dialects)('on %s', (dialect) => {
  const startServers = shareServers(dialect)

  const title = `of up to ${SCANS} scans at the same instant exactly as many are accepted as the policy allows`
  test(title, async () => {
    const { clients, rows } = await startServers()
    for (const { name, policy, scans, accepted, rejection, isVoidAfter } of races) {
      const pass = await issuedPass(clients[0]!, policy)
      // All scans have the same time, so that neither the month nor the order of arrival decides.
      const body = { passId: pass.id, scannedAt: new Date().toISOString(), context: { gate: 'Gate A' } }
      const answers: ScanResponse[] = await Promise.all(
        Array.from({ length: scans }, (_, n) => clients[n % clients.length]!.scans.create({ body })),
      )
      const letIn = answers.filter(({ result }) => result === 'accepted')
      const turnedAway = answers.filter(({ result }) => result !== 'accepted')
      expect(letIn.length, name).toBe(accepted)
      expect(new Set(turnedAway.map(({ reasonCode }) => reasonCode)), name).toEqual(new Set([rejection]))
      expect(letIn.map(({ priorScanCount }) => priorScanCount).sort(), name).toEqual(letIn.map((_, n) => n))
      expect(letIn.filter(({ isFirstScan }) => isFirstScan).length, name).toBe(1)
      const usedAt = new Date(body.scannedAt).toISOString()
      for (const { message, pass: summary } of turnedAway) {
        expect(summary, name).toMatchObject({ acceptedScanCount: accepted, lastAcceptedScanAt: usedAt })
        if (rejection === 'already_scanned' || rejection === 'quota_exhausted') {
          expect(message, name).toMatch(/(Already used|uses, the first) on \d+ \w{3} \d{4} at .*, Gate A\.$/)
        }
      }
      const ledger = await clients[0]!.scans.list({ query: { passId: pass.id } })
      expect(ledger.total, name).toBe(scans)
      const stored = (await rows('accepted_scans')).filter((row) => row.pass_id === pass.id)
      expect(stored, name).toHaveLength(accepted)
      const { status } = await clients[0]!.passes.get({ params: { id: pass.id } })
      expect(status, name).toBe(isVoidAfter ? 'VOID' : 'ISSUED')
    }
    const events = await rows('events')
    expect(events.filter(({ type }) => type === 'pass.scanned')).toHaveLength(
      races.reduce((sum, { scans }) => sum + scans, 0),
    )
    expect(events.filter(({ type }) => type === 'pass.voided')).toHaveLength(1)
  })

  test(`one of ${REPLAYS} simultaneous scans with one externalRef has an effect`, async () => {
    const { clients, rows } = await startServers()
    const pass = await issuedPass(clients[0]!, { maxUses: 50 })
    const body = { passId: pass.id, externalRef: 'the one' }
    const answers = await Promise.all(
      Array.from({ length: REPLAYS }, (_, n) => clients[n % clients.length]!.scans.create({ body })),
    )
    expect(new Set(answers.map(({ scan, result }) => `${scan.id} ${result}`)).size).toBe(1)
    expect(answers.filter(({ idempotentReplay }) => !idempotentReplay)).toHaveLength(1)
    for (const table of ['scans', 'accepted_scans']) expect(await rows(table)).toHaveLength(1)
  })

  test('scans that race the reversal of the only use admit at most once', async () => {
    const { clients, rows } = await startServers()
    const pass = await issuedPass(clients[0]!, { maxUses: 1 })
    const scan = (n: number) => clients[n % clients.length]!.scans.create({ body: { passId: pass.id } })
    let current = (await scan(0)).scan.id
    for (let round = 0; round < REVERSALS; round += 1) {
      const reversal = clients[round % clients.length]!.scans.reverse({ params: { id: current }, body: {} })
      const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => scan(n)))
      await reversal
      const letIn = answers.filter(({ result }) => result === 'accepted')
      expect(letIn.length).toBeLessThanOrEqual(1)
      current = (letIn[0] ?? (await scan(round))).scan.id
    }
    expect(await rows('accepted_scans')).toHaveLength(1)
  })

  test(`no scan that races ${RENEWALS} new codes and holders accepts an old code after its renewal`, async () => {
    const { clients, rows } = await startServers()
    const { id, label } = await issuedPass(clients[0]!, { maxUses: 100_000 })
    const codes = async () => (await rows('passes')).map(({ scan_code }) => String(scan_code))
    const params = { id }
    const answers: ScanResponse[] = []
    let [holder, [code]] = [label, await codes()]
    let sent = 0
    const scan = async (qrPayload = code!) => {
      const answer = await clients[sent++ % clients.length]!.scans.create({ body: { qrPayload } })
      answers.push(answer)
      return answer
    }
    const several = (count: number) => Array.from({ length: count }, () => scan())
    for (let round = 0; round < RENEWALS; round += 1) {
      // Send up to four scans before the renewal. If there are several, wait for the first response.
      const ahead = several(round % 5)
      if (ahead.length > 1) await Promise.race(ahead)
      const { passes } = clients[round % clients.length]!
      const renewed =
        round % 2 === 0
          ? passes.rotateCode({ params })
          : passes.transfer({ params, body: { label: `Holder ${round}` } })
      const beside = several(4)
      const pass = await renewed
      const late = several(3)
      for (const { reasonCode } of await Promise.all(late)) expect(reasonCode).toBe('stale_identifier')
      for (const { reasonCode, pass: summary } of await Promise.all([...ahead, ...beside])) {
        expect(['valid', 'stale_identifier']).toContain(reasonCode)
        // A scan that is accepted with the old code shows the previous holder.
        if (reasonCode === 'valid') expect(summary?.label).toBe(holder)
      }
      const [fresh] = await codes()
      expect(await scan(fresh)).toMatchObject({ reasonCode: 'valid', pass: { label: pass.label } })
      ;[holder, code] = [pass.label, fresh]
    }
    const letIn = answers.filter(({ result }) => result === 'accepted')
    expect(letIn.map(({ priorScanCount }) => priorScanCount).toSorted((a, b) => a - b)).toEqual(letIn.map((_, n) => n))
    const identifiers = await rows('pass_identifiers')
    expect(identifiers.filter(({ active }) => Boolean(active))).toHaveLength(1)
    // Old codes were also accepted while they were valid.
    expect(letIn.length).toBeGreaterThan(1.5 * RENEWALS)
  })
})
