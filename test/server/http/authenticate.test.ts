import fc from 'fast-check'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { newToken, tokenDigest } from '../../../src/core/rules/crypto/token.ts'
import { authorize, createAuthenticate } from '../../../src/server/http/middleware/authenticate.ts'
import type { Store } from '../../../src/storage/store.ts'
import type { TokenWithWorkspace } from '../../../src/storage/workspaces/tokens-repository.ts'
import { useApi } from '../../support/api.ts'

const log = pino({ level: 'silent' })
const at = new Date('2026-03-01T12:00:00Z')

test('rejects a token with one changed character without a database read', async () => {
  let reads = 0
  const findByDigest = async () => {
    reads += 1
    return undefined
  }
  const authenticate = createAuthenticate({ tokens: { findByDigest } } as unknown as Store, log)
  const character = fc.constantFrom(...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-')
  await fc.assert(
    fc.asyncProperty(fc.constant(null).map(newToken), fc.nat(41), character, async (token, index, other) => {
      fc.pre(token[index] !== other)
      const changed = token.slice(0, index) + other + token.slice(index + 1)
      const attempt = authenticate(new Headers({ 'x-api-key': changed }), at)
      await expect(attempt).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }),
    { numRuns: 500 },
  )
  expect(reads).toBe(0)
  await expect(authenticate(new Headers({ 'x-api-key': newToken() }), at)).rejects.toMatchObject({
    code: 'TOKEN_INVALID',
  })
  expect(reads).toBe(1)
})

test('a token that needs its owner for a route is rejected with that reason, regardless of its scopes', () => {
  const member = { role: 'member', scopes: ['webhooks:read'] } as unknown as TokenWithWorkspace
  const route = { scope: 'webhooks:read', role: 'owner' } as const
  expect(() => authorize(member, route)).toThrow(
    expect.objectContaining({ code: 'FORBIDDEN', details: { role: 'owner' } }),
  )
  expect(() => authorize({ ...member, role: 'owner' }, route)).not.toThrow()
})

describe('on a database', () => {
  const api = useApi('sqlite')

  test('a used token is cached briefly, regardless of the number of invalid ones', async () => {
    const workspace = await api.workspace()
    const { store, log: silent } = api.services
    let reads = 0
    const findByDigest = (digest: string) => {
      reads += 1
      return digest === tokenDigest(workspace.token) ? store.tokens.findByDigest(digest) : Promise.resolve(undefined)
    }
    const authenticate = createAuthenticate({ ...store, tokens: { findByDigest } } as unknown as Store, silent)
    const use = (token: string) => authenticate(new Headers({ 'x-api-key': token }), api.now)
    await use(workspace.token)
    for (let n = 0; n < 10_001; n += 1) await use(newToken()).catch(() => undefined)
    const before = reads
    await use(workspace.token)
    expect(reads).toBe(before)
  })

  test('a cached token ends with its revocation even if the clock was set back', async () => {
    const workspace = await api.workspace()
    const { store, log: silent } = api.services
    const authenticate = createAuthenticate(store, silent)
    const use = (seconds: number) =>
      authenticate(new Headers({ 'x-api-key': workspace.token }), new Date(api.now.getTime() + seconds * 1000))
    const { id } = await use(0)
    await store.transaction((tx) => tx.tokens.revoke(workspace.id, id, api.now))
    expect((await use(0.999)).id).toBe(id)
    await expect(use(-0.001)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    await expect(use(1)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  })

  test('stores the last use of a token at most once a minute', async () => {
    const workspace = await api.workspace()
    const { store } = api.services
    const lastUsed = async () => {
      await workspace.ok(contract.tokens.current, {})
      // SQLite has one writer, so when this transaction has ended, the last use is stored.
      await store.transaction(async () => undefined)
      return (await store.tokens.list(workspace.id))[0]!.lastUsedAt
    }
    const first = api.now
    expect(await lastUsed()).toEqual(first)
    api.advance(59)
    expect(await lastUsed()).toEqual(first)
    api.advance(1)
    expect(await lastUsed()).toEqual(api.now)
  })
})
