import { appendFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LogRecord } from '../../../src/cli/console/offline/log-files.ts'
import { openStore } from '../../../src/cli/console/offline/offline-store.ts'
import { newId } from '../../../src/core/ids.ts'
import type { OfflineDecision } from '../../../src/core/rules/door/own-scans.ts'
import { temporaryFolder } from '../../support/databases.ts'

const passId = '0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10'
const noon = new Date('2026-03-01T12:00:00.000Z')
const at = (minutes: number) => new Date(noon.getTime() + minutes * 60_000)

function decision(minutes: number): OfflineDecision {
  return {
    kind: 'verdict',
    externalRef: newId(at(minutes)),
    snapshotId: passId,
    qrPayload: 'PAYLOAD',
    scannedAt: at(minutes).toISOString(),
    result: 'accepted',
    reason: 'valid',
    acceptedPassId: passId,
  }
}

function uploaded({ externalRef }: { externalRef: string }, minutes: number): LogRecord {
  return { kind: 'uploaded', externalRef, recordedAt: at(minutes).toISOString() }
}

/** A reversal of the scan that stands for a time. */
function reversed(minutes: number) {
  const undoes = { externalRef: 'scan', scanId: 'scan' }
  return {
    kind: 'reversed' as const,
    externalRef: `undo-${minutes}`,
    passId,
    scannedAt: at(minutes).toISOString(),
    undoes,
  }
}

function accepted(minutes: number): LogRecord {
  const moment = at(minutes).toISOString()
  return { kind: 'accepted', passId, scannedAt: moment, scanContextKey: null, recordedAt: moment }
}

/** A number that no process has. */
const NOBODY = 999_999_999

/** A log that a console of this machine left when it was killed. */
function leaveLog(folder: string, records: LogRecord[], { tail = '', pid = NOBODY } = {}): string {
  const name = `log-${hostname().replaceAll(/[^A-Za-z0-9.]/g, '_')}-${pid}-0123456789abcdef.ndjson`
  writeFileSync(join(folder, name), records.map((record) => `${JSON.stringify(record)}\n`).join('') + tail)
  return name
}

const minutesOf = (scans: { scannedAt: Date }[]) =>
  scans.map(({ scannedAt }) => (scannedAt.getTime() - noon.getTime()) / 60_000)

test('scans of a dead console wait here, oldest first, without a torn last line', () => {
  const folder = temporaryFolder()
  const [first, second, third] = [decision(1), decision(2), decision(3)]
  leaveLog(folder, [first, second], { tail: JSON.stringify(decision(9)).slice(0, 40) })
  const store = openStore(folder)
  store.append(third)
  expect(store.pending()).toEqual([first, second, third])
  store.append(uploaded(first, 5))
  expect(store.pending()).toEqual([second, third])
})

test('scans of a dead console wait here even if another program has its process ID now', () => {
  const folder = temporaryFolder()
  const left = decision(1)
  leaveLog(folder, [left], { pid: 1 })
  expect(openStore(folder).pending()).toEqual([left])
})

test('scans of a living console wait here too, and count here, until either console uploads them', () => {
  const folder = temporaryFolder()
  const [one, other] = [openStore(folder), openStore(folder)]
  const held = decision(1)
  one.append(held)
  expect(other.pending()).toEqual([held])
  other.append(uploaded(held, 2))
  expect(one.pending()).toEqual([])
  expect(minutesOf(other.acceptedScans(passId, [], at(0).toISOString()))).toEqual([1])
})

test('a scan counts once, whether the list has it, the log, or both; a reversed one does not', () => {
  const store = openStore(temporaryFolder())
  const offline = decision(3)
  store.append(accepted(1), accepted(2), offline)
  const listed = [{ scannedAt: at(1).toISOString(), scanContextKey: null }]
  expect(minutesOf(store.acceptedScans(passId, listed, at(1).toISOString()))).toEqual([1, 2, 3])
  // A list of later holds what the server knew by then: what is missing in it was taken back elsewhere.
  expect(minutesOf(store.acceptedScans(passId, [], at(10).toISOString()))).toEqual([3])
  store.append(uploaded(offline, 20))
  expect(minutesOf(store.acceptedScans(passId, [], at(10).toISOString()))).toEqual([3])
  expect(minutesOf(store.acceptedScans(passId, [], at(30).toISOString()))).toEqual([])
  store.append(reversed(2), uploaded(reversed(2), 21))
  expect(minutesOf(store.acceptedScans(passId, listed, at(1).toISOString()))).toEqual([1, 3])
})

test('scans as of a date that stand for one moment count each, and a reversal takes one of them', () => {
  const store = openStore(temporaryFolder())
  const dated = { scannedAt: at(60).toISOString(), scanContextKey: null, validityDate: '2026-03-01' }
  const online = { ...accepted(60), validityDate: '2026-03-01', recordedAt: at(2).toISOString() } as LogRecord
  const offline = { ...decision(3), validityDate: '2026-03-01', operationalAt: at(60).toISOString() }
  store.append(online, offline)
  const known = (listed: (typeof dated)[]) => store.acceptedScans(passId, listed, at(2).toISOString())
  expect(minutesOf(known([]))).toEqual([60, 60])
  expect(minutesOf(known([dated, dated]))).toEqual([60, 60])
  expect(minutesOf(known([dated, dated, dated]))).toEqual([60, 60, 60])
  store.append(reversed(60), uploaded(reversed(60), 4))
  expect(known([dated, dated])).toEqual([{ ...dated, scannedAt: at(60) }])
})

test('a new list removes old logs, except those with pending decisions', () => {
  const folder = temporaryFolder()
  const [done, waiting] = [decision(1), decision(2)]
  const left = leaveLog(folder, [done, waiting])
  const store = openStore(folder)
  store.append(uploaded(done, 3), accepted(4))
  store.prune(at(10).toISOString())
  expect(store.pending()).toEqual([waiting])
  expect(readdirSync(folder)).toContain(left)
  store.append(uploaded(waiting, 11))
  store.prune(at(20).toISOString())
  expect(readdirSync(folder)).not.toContain(left)
  expect(store.pending()).toEqual([])
})

test('a record behind one that a full disk tore is whole', () => {
  const folder = temporaryFolder()
  const left = leaveLog(folder, [], { tail: '{"kind":"verd' })
  appendFileSync(join(folder, left), `\n${JSON.stringify(decision(1))}\n`)
  expect(openStore(folder).pending()).toHaveLength(1)
})

test('only the owner can read the log, and an empty one leaves no file', () => {
  const folder = join(temporaryFolder(), 'doors', 'one')
  const store = openStore(folder)
  const [name] = readdirSync(folder)
  expect(statSync(join(folder, name!)).mode & 0o777).toBe(0o600)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  store.close()
  expect(readdirSync(folder)).toEqual([])
})
