import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { passes } from '../../../../src/core/contract/passes.ts'
import { projects } from '../../../../src/core/contract/projects.ts'
import { doors } from '../../../../src/core/contract/scans/doors.ts'
import { scanner } from '../../../../src/core/contract/scans/scanner.ts'
import { scans } from '../../../../src/core/contract/scans/scans.ts'
import type { Route, RouteCall } from '../../../../src/core/route.ts'
import { TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects } from '../../../support/databases.ts'
import { scannablePass } from './scan-support.ts'

/**
 * The responses that a server without zones gave to the requests below. After an intended change of these responses, record
 * them again:
 *
 *    PASSES_RECORD_RESPONSES=1 npx vitest run test/server/api/scans/without-zones.test.ts
 */
const FILE = join(import.meta.dirname, 'without-zones.json')

test.each(dialects)('requests without a zone get the same bytes as before zones existed, on %s', async (dialect) => {
  const texts = await record(dialect)
  if (process.env.PASSES_RECORD_RESPONSES) writeFileSync(FILE, `${JSON.stringify(texts, null, 2)}\n`)
  expect(texts).toEqual(JSON.parse(readFileSync(FILE, 'utf8')))
})

const apis = new Map(dialects.map((dialect) => [dialect, useApi(dialect)]))

async function record(dialect: (typeof dialects)[number]): Promise<string[]> {
  const api = apis.get(dialect)!
  const owner = await api.workspace()
  const texts: string[] = []
  const names = new Map<string, string>()
  /** Replaces random values by names, in the order of their first appearance. */
  const settled = (text: string) =>
    text.replaceAll(RANDOM, (value) => {
      const name = names.get(value) ?? `random-${names.size}`
      names.set(value, name)
      return name
    })
  async function ask<R extends Route>(workspace: TestWorkspace, route: R, call: RouteCall<R>) {
    const { status, text, body } = await workspace.call(route, call)
    texts.push(`${route.method} ${route.path} ${status} ${settled(text)}`)
    return body as { id: string; token: string; code: string; door: { id: string }; scan: { id: string } }
  }

  const { id: projectId } = await owner.ok(projects.create, { body: { name: 'Fair' } })
  const other = await owner.ok(projects.create, { body: { name: 'Other fair' } })
  const once = { projectId, redemption: { maxUses: 1 } }
  const ada = await scannablePass(owner, { ...once, code: 'same-ada' })
  const twice = await scannablePass(owner, { projectId, code: 'twice', redemption: { maxUses: 2 } })
  const daily = await scannablePass(owner, { projectId, code: 'daily' })
  await scannablePass(owner, { projectId, code: 'both' })
  await scannablePass(owner, { projectId, code: 'both' })
  const elsewhere = await scannablePass(owner, { projectId: other.id, code: 'elsewhere' })
  const voided = await scannablePass(owner, { projectId, code: 'voided' })
  await owner.ok(passes.void, { params: { id: voided.id } })
  const context = { gate: 'North', note: 'first' }
  const create = (body: RouteCall<typeof scans.create>['body']) => ask(owner, scans.create, { body })
  const first = await create({ qrPayload: ada.code, externalRef: 'ref-1', context, deviceId: 'gate-1' })
  await create({ qrPayload: ada.code, externalRef: 'ref-1' })
  for (const qrPayload of [ada.code, twice.code, twice.code, twice.code, 'nothing', 'both', voided.code]) {
    api.advance(60)
    await create({ qrPayload, projectId })
  }
  await create({ passId: elsewhere.id, projectId })
  for (const scanContextKey of ['day 1', 'day 1', 'day 2']) await create({ qrPayload: daily.code, scanContextKey })
  await create({ qrPayload: daily.code, validityDate: '2026-03-02', scannedAt: '2026-03-01T11:00:00Z' })
  await create({})
  await ask(owner, scans.reverse, { params: { id: first.scan.id }, body: { reason: 'mistake' } })
  await ask(owner, scans.reverse, { params: { id: first.scan.id } })
  await create({ qrPayload: ada.code })
  const from = '2026-03-01T00:00:00Z'
  await ask(owner, scans.list, { query: { limit: 100 } })
  await ask(owner, scans.get, { params: { id: first.scan.id } })
  await ask(owner, scans.stats, { query: { groupBy: ['gate'] } })
  await ask(owner, scans.stats, { query: { projectId: [projectId] } })
  await ask(owner, scans.explain, { params: { id: twice.id } })
  const policy = { maxUses: 1 }
  await ask(owner, scans.replay, { body: { projectId, policy, from, to: '2026-03-02T00:00:00Z' } })
  const snapshot = await ask(owner, scanner.snapshot, { query: { projectId } })

  const expiresAt = new Date(api.now.getTime() + 3_600_000).toISOString()
  const { code } = await ask(owner, doors.invite, { body: { projectId, gate: 'South', expiresAt } })
  const { door, token } = await owner.ok(doors.claim, { body: { code, name: 'Anna' } })
  const phone = new TestWorkspace(api, owner.id, token)
  await ask(phone, scans.create, { body: { qrPayload: daily.code, scanContextKey: 'day 3' } })
  const offline = { scannedAt: '2026-03-01T12:30:00Z', result: 'accepted', reason: 'valid' } as const
  const reported = [
    { ...offline, externalRef: 'off-1', qrPayload: daily.code, scanContextKey: 'day 4' },
    { ...offline, externalRef: 'off-2', qrPayload: daily.code, scanContextKey: 'day 4' },
    { ...offline, externalRef: 'off-3', qrPayload: 'nothing', result: 'denied', reason: 'no_match' },
  ] as const
  await ask(phone, scanner.report, { body: { scans: [...reported] } })
  await ask(phone, scanner.report, { body: { scans: [...reported] } })
  await ask(phone, doors.update, { params: { id: door.id }, body: { gate: 'East' } })
  await ask(phone, doors.list, {})
  await ask(owner, scanner.snapshot, { query: { projectId, since: snapshot.id } })
  await ask(owner, scans.list, { query: { limit: 100, projectId: [projectId] } })
  const events: { data: string }[] = await api.database.writer('events').where({ type: 'pass.scanned' }).orderBy('id')
  for (const { data } of events) texts.push(settled(data))
  return texts
}

/** UUIDs, digests, invitation codes, and names of passes. */
const RANDOM = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64}|\b[A-Z0-9]{26}\b|\bpass-\d+\b/g
