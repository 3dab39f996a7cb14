import { expect, onTestFinished, test, vi } from 'vitest'
import { expirePasses, sweep } from '../../../src/server/background/maintenance.ts'
import type { Services } from '../../../src/server/context.ts'
import { createPace } from '../../../src/server/jobs/chunks.ts'
import type { Repositories } from '../../../src/storage/store.ts'

test.each([
  ['fast work takes a fifth more rows each time, up to the maximum', { microseconds: 1 }, [250, 300, 360, 400, 400]],
  ['slower work takes the rows of 10 ms', { microseconds: 50 }, [250, 200, 200, 200, 200]],
  ['slow work takes fewer rows at once', { microseconds: 500 }, [250, 20, 20, 20, 20]],
  ['very slow work still takes the minimum', { microseconds: 100_000 }, [250, 10, 10, 10, 10]],
])('%s', async (_, { microseconds }, expected) => {
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  const pace = createPace({ first: 250, most: 400 })
  const taken: number[] = []
  // The commit takes all the time of the job.
  const store = {
    transaction: async <T>(work: (tx: Repositories) => Promise<T>) => {
      now += 1_000
      const result = await work({} as Repositories)
      now += (taken.at(-1)! * microseconds) / 1000
      return result
    },
  }
  for (const _ of expected) {
    await pace.run(store, async (_tx, rows) => {
      taken.push(rows)
    })
  }
  expect(taken).toEqual(expected)
})

test('on a slow database, passes expire in transactions of limited size', async () => {
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  const taken: number[] = []
  const expire = async (_: Date, rows: number) => {
    taken.push(rows)
    now += rows * 100
    return Array.from({ length: rows }, (_, n) => ({ workspaceId: 'bench', id: `pass-${n}` }))
  }
  const tx = {
    passes: { expire },
    heldPasses: { findHolders: async () => ({ apple: [], google: [] }) },
    jobs: { insertOnce: async () => undefined },
    figures: { insert: async () => undefined },
  } as unknown as Repositories
  const store = {
    passesPerTurn: 100,
    passes: { hasExpired: async () => taken.length < 3 },
    transaction: <T>(work: (tx: Repositories) => Promise<T>) => work(tx),
  }
  const stopping = new AbortController().signal
  await expirePasses({ store, clock: () => new Date(0), stopping } as unknown as Services)
  expect(taken).toEqual([250, 100, 100])
})

test('on a slow database, retention deletes in transactions of limited size', async () => {
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  const taken: number[] = []
  const deleteEvents = async (_: Date, rows: number) => {
    taken.push(rows)
    now += rows * 100
    return { rows: taken.length < 3 ? rows : 0 }
  }
  const none = async () => ({ rows: 0, dropped: [] })
  const retention = new Proxy({ deleteEvents }, { get: (own, name) => (name in own ? deleteEvents : none) })
  const joinSubmissions = { deleteOld: async () => [] }
  const tx = { retention, googleObjects: { deleteCallbacks: none }, joinSubmissions } as unknown as Repositories
  const store = { passesPerTurn: 100, transaction: <T>(work: (tx: Repositories) => Promise<T>) => work(tx) }
  await sweep({
    store,
    clock: () => new Date(0),
    retention: { deliveriesDays: 30, auditDays: 0 },
    stopping: new AbortController().signal,
  } as unknown as Services)
  expect(taken).toEqual([250, 100, 100])
})
