import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createConnection, PATIENCE_MS } from '../../../src/cli/console/connection.ts'
import { createDoor } from '../../../src/cli/console/door.ts'
import { type DoorStore, openStore } from '../../../src/cli/console/offline/store.ts'
import type { CallOptions, Client } from '../../../src/client/client.ts'
import { ApiError } from '../../../src/client/errors.ts'
import type { OfflineDecision } from '../../../src/core/rules/door/own-scans.ts'
import { temporaryFolder } from '../../support/databases.ts'

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

test('reports a rejected offline scan with its time on the clock of the console', async () => {
  vi.stubEnv('TZ', 'Asia/Tokyo')
  const folder = temporaryFolder()
  const store = openStore(folder)
  store.append(decision)
  const request = { method: 'POST', path: '/v1/scans/offline' }
  const error = new ApiError({ status: 400, code: 'X', message: 'No', correlationId: 'c', details: {}, request })
  const reject = () => Promise.reject(error)
  const door = createDoor({
    client: {
      tokens: { current: async () => ({}) },
      scanner: { report: reject, snapshot: reject },
    } as unknown as Client,
    store,
    folder,
    station: { projectId: undefined, deviceId: 'gate', context: {} },
    isReached: true,
    overrides: { scanContextKey: null, validityDate: null },
    clock: () => new Date(),
    sameScanMs: 0,
    onOutcome: () => undefined,
    onChange: () => undefined,
  })
  onTestFinished(async () => {
    await door.stop()
    store.close()
  })
  await door.state.connection.whenOnline(60_000)
  expect(door.state.notice).toBe('The server does not take the scan at 19:00:00: No')
})

test('a report that waits for its turn at a busy server is sent once, however long a person would wait', async () => {
  let waiting = [decision]
  let reports = 0
  const scan = { result: 'accepted', recordedAt: '2027-01-01T11:00:00.000Z' }
  const client = {
    tokens: { current: async () => ({}) },
    scanner: {
      async report(_: unknown, { signal }: CallOptions) {
        reports += 1
        await sleep(PATIENCE_MS + 500, undefined, { signal: signal! })
        return { results: [{ externalRef: decision.externalRef, scan, conflict: null }] }
      },
    },
  } as unknown as Client
  const store = {
    pending: () => waiting,
    append: () => {
      waiting = []
    },
  } as unknown as DoorStore
  const connection = createConnection({
    client,
    store,
    isReached: true,
    clock: () => new Date(),
    onChange: () => undefined,
    onUpload: () => undefined,
    onRejection: (_, error) => expect.unreachable(error.message),
    onError: (error) => expect.unreachable(String(error)),
  })
  onTestFinished(() => connection.stop())
  await connection.whenOnline(60_000)
  expect([connection.state, reports, waiting]).toEqual(['online', 1, []])
})
