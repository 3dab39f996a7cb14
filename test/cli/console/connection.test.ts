import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createConnection, PATIENCE_MS } from '../../../src/cli/console/connection.ts'
import type { DoorStore } from '../../../src/cli/console/offline/store.ts'
import type { CallOptions, Client } from '../../../src/client/client.ts'
import type { OfflineDecision } from '../../../src/core/rules/door/own-scans.ts'

test('a report that waits for its turn at a busy server is sent once, however long a person would wait', async () => {
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
