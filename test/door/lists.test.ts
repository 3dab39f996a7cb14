import { expect, test } from 'vitest'
import type { Snapshot } from '../../src/core/contract/scans/scanner.ts'
import type { EngineEnvironment } from '../../src/door/engine/environment.ts'
import { createListKeeper } from '../../src/door/engine/lists.ts'
import type { DoorServer, Reply } from '../../src/door/engine/server.ts'
import type { ListHead } from '../../src/door/engine/store/engine-store.ts'
import type { EngineStore } from '../../src/door/engine/store/table-store.ts'

const generatedAt = '2026-03-01T12:00:00.000Z'

/** Creates the keeper of a stored list. The server responds with these replies in order. */
function keeper(replies: Reply<Partial<Snapshot>>[], { tookMs = 0 } = {}) {
  const asked: Record<string, string>[] = []
  const list = { id: 'old', generatedAt }
  const clock = { now: 0 }
  const store = {
    summary: async () => ({ list, zones: [] }),
    learnZones: async () => undefined,
    amendList: async (_changed: unknown, _removed: unknown, head: ListHead | null) => void Object.assign(list, head),
  } as unknown as EngineStore
  const server = {
    async snapshot({ projectId: _, limit: __, ...query }) {
      asked.push(query)
      clock.now += tookMs
      return replies.shift()
    },
  } as Partial<DoorServer> as DoorServer
  const environment: Partial<EngineEnvironment> = {
    withLock: (_, work) => work(),
    monotonicMs: () => clock.now,
    random: () => 0,
  }
  const identity = () => ({ door: { projectId: 'p' } })
  const { freshen, isDue } = createListKeeper(
    { store: () => store, server, environment, identity, clock: { now: () => new Date() } } as never,
    {
      onLoading: () => undefined,
      onFetched: () => undefined,
      onError: (error) => {
        throw error
      },
    },
  )
  return { asked, list, clock, isDue, freshen: () => freshen(new AbortController().signal) }
}

const page = (nextCursor: string | null): Reply<Partial<Snapshot>> => ({
  kind: 'answer',
  value: { id: 'new', generatedAt, items: [], removed: [], hasMore: nextCursor !== null, nextCursor },
})

test('changes that break off before the last page are requested again from the same list', async () => {
  const { asked, list, clock, freshen } = keeper([page('c'), { kind: 'timeout' } as never, page('c'), page(null)])
  await freshen()
  expect(list.id).toBe('old')
  clock.now += 3_000
  await freshen()
  expect(list.id).toBe('new')
  const [first, second] = [{ since: 'old' }, { since: 'old', cursor: 'c' }]
  expect(asked).toEqual([first, second, first, second])
})

test('a list that takes ten seconds is requested again after 20 times that, a quick one after 15 s', async () => {
  for (const [tookMs, restMs] of [
    [10_000, 200_000],
    [10, 15_000],
  ] as const) {
    const { clock, isDue, freshen } = keeper([page(null)], { tookMs })
    await freshen()
    clock.now += restMs - 1
    expect(isDue()).toBe(false)
    clock.now += 1
    expect(isDue()).toBe(true)
  }
})
