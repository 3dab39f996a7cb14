import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { TIMEOUT_MS } from '../../../src/cli/console/environment.ts'
import { openSqliteTables } from '../../../src/cli/console/offline/sqlite-tables.ts'
import { createClient } from '../../../src/client/client.ts'
import { failedOutcome } from '../../../src/core/rules/door/outcome.ts'
import { type OfflineDecision, ownScanOf } from '../../../src/core/rules/door/own-scans.ts'
import { TableStore } from '../../../src/door/engine/store/table-store.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { openDoor } from './console.ts'

const decision: OfflineDecision = {
  kind: 'verdict',
  externalRef: 'door-1',
  snapshotId: 'list',
  passId: 'pass',
  scannedAt: '2027-01-01T10:00:00.000Z',
  result: 'accepted',
  reason: 'valid',
  acceptedPassId: 'pass',
}

/** Opens a console with a decision that an earlier console left, and a server that answers uploads with `report`. */
async function openWithDecision(report: () => Promise<{ status: number; body: object }>) {
  const server = createServer(async (request, response) => {
    const isReport = request.url === '/v1/scans/offline'
    const { status, body } = isReport ? await report() : { status: 200, body: { items: [], hasMore: false } }
    const headers = { 'x-correlation-id': 'c', 'content-type': 'application/json' }
    response.writeHead(status, headers).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const folder = temporaryFolder()
  const { externalRef, scannedAt } = decision
  const attempt = { externalRef, at: new Date(scannedAt), payload: null, passId: 'pass' }
  const outcome = failedOutcome({ ...attempt, scanContextKey: null, validityDate: null }, '')
  const earlier = new TableStore(await openSqliteTables(join(folder, 'door.db')))
  await earlier.settle(
    { ...outcome, failure: null, isUndone: false, isPending: true },
    {
      ...ownScanOf(decision),
      externalRef,
      projectId: '',
      kind: 'accepted',
      passId: 'pass',
      waits: '',
      decision,
    },
  )
  await earlier.close()
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = createClient({ url, token: 'token', attempts: 1 })
  const door = await openDoor(client, folder)
  onTestFinished(async () => {
    await door.stop()
    await client.close()
    server.close()
  })
  return door
}

test('reports a rejected offline scan with its time on the clock of the console', async () => {
  vi.stubEnv('TZ', 'Asia/Tokyo')
  const door = await openWithDecision(async () => ({ status: 400, body: { errorCode: 'X', message: 'No' } }))
  expect(door.state.connection.offlineSince).not.toBe(null)
  await door.whenOnline(60_000)
  expect(door.state).toMatchObject({
    notice: 'The server rejected the scan at 19:00:00: No',
    pending: 0,
  })
})

test('reports why the server rejects pending decisions, and keeps them', async () => {
  const body = { errorCode: 'FORBIDDEN', message: 'Missing scope' }
  const door = await openWithDecision(async () => ({ status: 403, body }))
  await door.whenOnline(60_000)
  expect(door.state).toMatchObject({ connection: { offlineSince: null, rejection: 'Missing scope' }, pending: 1 })
})

test('a report that waits at a busy server is sent once, regardless of the wait', async () => {
  let reports = 0
  const scan = { id: 'scan', result: 'accepted', recordedAt: '2027-01-01T11:00:00.000Z' }
  const door = await openWithDecision(async () => {
    reports += 1
    await sleep(TIMEOUT_MS + 500)
    return { status: 201, body: { results: [{ externalRef: decision.externalRef, scan, conflict: null }] } }
  })
  await door.whenOnline(60_000)
  expect([reports, door.state.pending, door.state.notice]).toEqual([1, 0, null])
})
