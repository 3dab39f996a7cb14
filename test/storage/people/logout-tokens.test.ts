import { describe, expect, test } from 'vitest'
import { createStore } from '../../../src/storage/store.ts'
import { dialects } from '../../support/databases.ts'
import { later, openTestDatabase, openTestStore, start } from '../fixtures.ts'

describe.each(dialects)('logout tokens on %s', (dialect) => {
  test('accepts a token once across servers, and again after a rollback or after its lifetime', async () => {
    const { url, store } = await openTestStore(dialect)
    const other = createStore(openTestDatabase(url))
    const use = (server: typeof store, digest: string) =>
      server.transaction((tx) => tx.sessions.useLogoutToken(digest, 60_000, start))
    const used = await Promise.all(Array.from({ length: 8 }, (_, n) => use(n % 2 === 0 ? store : other, 'a')))
    expect(used.filter(Boolean)).toHaveLength(1)
    const failed = store.transaction(async (tx) => {
      await tx.sessions.useLogoutToken('b', 60_000, start)
      throw new Error('lost')
    })
    await expect(failed).rejects.toThrow('lost')
    expect(await use(other, 'b')).toBe(true)
    expect(await store.transaction((tx) => tx.sessions.useLogoutToken('a', 60_000, later(61)))).toBe(true)
  })
})
