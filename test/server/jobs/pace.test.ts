import { expect, onTestFinished, test, vi } from 'vitest'
import { createPace } from '../../../src/server/jobs/chunks.ts'
import type { Repositories } from '../../../src/storage/store.ts'

test.each([
  ['what is quick takes a fifth more each time, as many as it may', { microseconds: 1 }, [250, 300, 360, 400, 400]],
  ['what takes its time takes as many as go into 10 ms', { microseconds: 50 }, [250, 200, 200, 200, 200]],
  ['what is slow takes fewer at once', { microseconds: 500 }, [250, 20, 20, 20, 20]],
  ['what is very slow still takes some', { microseconds: 100_000 }, [250, 10, 10, 10, 10]],
])('%s', async (_, { microseconds }, expected) => {
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  const pace = createPace({ first: 250, most: 400 })
  const taken: number[] = []
  // What nobody waits for is done as late as in the commit.
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
