import { expect, test } from 'vitest'
import { followPages } from '../../../src/cli/list/follow.ts'
import { ConnectionError } from '../../../src/client/client-errors.ts'
import { newId } from '../../../src/core/ids.ts'

interface Row {
  id: string
  /** The key of the order. */
  scannedAt: string
  recordedAt: string
}

const start = Date.parse('2027-05-31T10:00:00Z')
const iso = (seconds: number) => new Date(start + seconds * 1000).toISOString()
const row = (scanned: number, recorded = scanned): Row => {
  return { id: newId(new Date(start)), scannedAt: iso(scanned), recordedAt: iso(recorded) }
}

test('shows each new row once: bursts, late rows, late commits, and across an outage', async () => {
  // 1,000 scans in the hour before.
  const ledger = Array.from({ length: 1_000 }, (_, n) => row(-3_600 + n * 3))
  const sorted = () => ledger.toSorted((a, b) => (a.scannedAt < b.scannedAt ? 1 : -1))
  let isAway = false
  const list = async ({ query: { limit, cursor = '0' } }: { query: { limit: number; cursor?: string } }) => {
    if (isAway) throw new ConnectionError('http://127.0.0.1:1', new Error('gone'))
    const from = Number(cursor)
    const isLast = from + limit >= ledger.length
    const items = sorted().slice(from, from + limit)
    const nextCursor = isLast ? null : String(from + limit)
    return { items, total: ledger.length, limit, offset: from, nextCursor, hasMore: !isLast }
  }
  const steps = [
    () => ledger.push(...Array.from({ length: 250 }, (_, n) => row(n / 100))),
    // Scans that a door decided offline long ago and uploads now.
    () => ledger.push(row(-3_000, 5), row(-10, 5), row(6)),
    // A scan that is committed after a later one.
    () => ledger.push(row(2, 2)),
    () => {
      isAway = true
      ledger.push(...Array.from({ length: 130 }, (_, n) => row(600 + n)))
    },
    () => {
      isAway = false
    },
  ]
  const before = new Set(ledger.map(({ id }) => id))
  const stop = new AbortController()
  const notes: string[] = []
  const shown: Row[] = []
  const wait = async () => {
    const step = steps.shift()
    if (step) step()
    else stop.abort()
  }
  const pages = followPages({
    list,
    limit: 3,
    writtenAt: ({ recordedAt }) => recordedAt,
    stop: stop.signal,
    note: (message) => notes.push(message),
    wait,
  })
  for await (const { items } of pages) shown.push(...items)
  const ids = shown.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.slice(0, 3)).toEqual(
    sorted()
      .filter(({ id }) => before.has(id))
      .slice(0, 3)
      .map(({ id }) => id)
      .reverse(),
  )
  expect(ids.slice(3).toSorted()).toEqual(
    ledger
      .map(({ id }) => id)
      .filter((id) => !before.has(id))
      .toSorted(),
  )
  expect(notes).toEqual([
    expect.stringContaining('Ctrl-C'),
    expect.stringContaining('waiting for the server'),
    'The server is back',
  ])
})
