import { expect, test } from 'vitest'
import type { Zone } from '../../../src/core/contract/scans/zones.ts'
import type { Api } from '../../../src/desk/live/desk-api.ts'
import {
  loadCurves,
  loadEntries,
  type Minute,
  shareOf,
  shownZones,
  stretchesOf,
} from '../../../src/desk/live/zone-curves.ts'

const zone = (name: string, inside: number, capacity: number | null) => ({ id: name, name, inside, capacity }) as Zone

test('shows zones by name, and keeps the fullest ones if there are too many', () => {
  const zones = [zone('Hall 10', 5, 10), zone('Hall 9', 10, 10), zone('Field', 900, null), zone('Park', 1, null)]
  expect(shownZones(zones).map(({ name }) => name)).toEqual(['Field', 'Hall 9', 'Hall 10', 'Park'])
  expect(shownZones(zones, 3).map(({ name }) => name)).toEqual(['Field', 'Hall 9', 'Hall 10'])
})

test('only a full zone has 100 percent, and a negative number inside has 0', () => {
  const shares = [1999, 2000, 2001, -3].map((inside) => shareOf({ inside, capacity: 2000 }))
  expect(shares).toEqual([0.99, 1, 1, 0])
  expect(shareOf({ inside: 7, capacity: null })).toBe(null)
})

const END = Date.parse('2027-05-31T20:00:00.000Z')

/** The movements per minute that the API returns: one entry at each of these minutes before the end. */
function apiWith(entriesAt: Record<string, number[]>) {
  const reads: string[] = []
  const insideBefore = (id: string, at: number) =>
    entriesAt[id]!.filter((minutes) => END - minutes * 60_000 < at).length
  const occupancy = async ({ params: { id }, query }: Parameters<Api['zones']['occupancy']>[0]) => {
    const [from, to] = [Date.parse(query!.from!), query!.to === undefined ? END : Date.parse(query!.to)]
    reads.push(id)
    const items: Minute[] = []
    for (let at = from; at < to; at += 60_000) {
      const inside = insideBefore(id, at + 60_000)
      items.push({ at: new Date(at).toISOString(), entries: inside - insideBefore(id, at), exits: 0, inside })
    }
    const entries = insideBefore(id, to) - insideBefore(id, from)
    return { items, entries, exits: 0, peak: insideBefore(id, to), peakAt: query!.from!, inside: 0, capacity: null }
  }
  const list = async () => ({
    items: Object.keys(entriesAt).map((name) => zone(name, 1, 10)),
    total: 1,
    nextCursor: null,
  })
  return { api: { zones: { list, occupancy } } as unknown as Api, reads }
}

test('loads a day once a minute, and starts all curves at the first movement', async () => {
  const { api, reads } = apiWith({ A: [1_439, 20], B: [900] })
  const minute = new Date(END).toISOString()
  const [a, b] = await loadCurves(api, 'p', minute)
  expect([a!.minutes.length, a!.entries, a!.peak, b!.minutes.length]).toEqual([1_439, 2, 2, 1_439])
  await loadCurves(api, 'p', minute)
  expect(reads).toEqual(['A', 'A', 'B', 'B'])
  await loadCurves(api, 'p', new Date(END + 60_000).toISOString())
  expect(reads).toHaveLength(8)
})

test('a curve without movements in the last hours shows four hours', async () => {
  const { api } = apiWith({ A: [10] })
  const [curve] = await loadCurves(api, 'p', new Date(END).toISOString())
  expect([curve!.minutes.length, curve!.minutes.at(-1)!.at]).toEqual([240, '2027-05-31T19:59:00.000Z'])
})

test('counts the entries since a time, including the current minute', async () => {
  const { api } = apiWith({ A: [10, 3, 0.5], B: [900] })
  const since = new Date(END - 300_000).toISOString()
  expect([...(await loadEntries(api, 'p', since))]).toEqual([
    ['A', 2],
    ['B', 0],
  ])
})

test('combines minutes with the sums of entries and exits, and the number at the end', () => {
  const minutes = [1, 2, 3].map((n) => ({
    at: new Date(n * 60_000).toISOString(),
    entries: n,
    exits: 1,
    inside: n * 10,
  }))
  const stretches = stretchesOf(minutes, (at) => Math.floor(at.getTime() / 120_000))
  expect(stretches.map(({ entries, exits, inside }) => [entries, exits, inside])).toEqual([
    [1, 1, 10],
    [5, 2, 30],
  ])
})
