import { expect, test } from 'vitest'
import { createListKeeper } from '../../src/door/engine/lists.ts'
import type { DoorServer, Reply, SnapshotPage } from '../../src/door/engine/server.ts'
import type { EngineStore } from '../../src/door/engine/store.ts'

const generatedAt = '2026-03-01T12:00:00.000Z'

/** A keeper of a stored list, whose server gives these replies one after another. */
function keeper(replies: Reply<Partial<SnapshotPage>>[]) {
  const asked: Record<string, string>[] = []
  const list = { id: 'old', generatedAt }
  let now = 0
  const store = {
    summary: async () => ({ list }),
    amendList: async (_changed, _removed, head) => void Object.assign(list, head),
  } as Partial<EngineStore> as EngineStore
  const server = {
    async snapshot({ projectId: _, limit: __, ...query }) {
      asked.push(query)
      return replies.shift()
    },
  } as Partial<DoorServer> as DoorServer
  const { freshen } = createListKeeper({
    store: () => store,
    server,
    environment: {
      withLock: (_, work) => work(),
      monotonicMs: () => {
        now += 3_600_000
        return now
      },
      random: () => 0,
    },
    identity: () => ({ door: { projectId: 'p' } }) as never,
    onLoading: () => undefined,
    onFetched: () => undefined,
    onError: (error) => {
      throw error
    },
  })
  return { asked, list, freshen: () => freshen(new AbortController().signal) }
}

const page = (nextCursor: string | null): Reply<Partial<SnapshotPage>> => ({
  kind: 'answer',
  value: { id: 'new', generatedAt, items: [], removed: [], hasMore: nextCursor !== null, nextCursor },
})

test('changes that break off before the last page are requested again from the same list', async () => {
  const { asked, list, freshen } = keeper([page('c'), { kind: 'timeout' } as never, page('c'), page(null)])
  await freshen()
  expect(list.id).toBe('old')
  await freshen()
  expect(list.id).toBe('new')
  const [first, second] = [{ since: 'old' }, { since: 'old', cursor: 'c' }]
  expect(asked).toEqual([first, second, first, second])
})
