import { beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { ErrorBody } from '../../../src/core/contract/schemas/common.ts'
import { scopes } from '../../../src/core/route.ts'
import { newToken, tokenDigest } from '../../../src/core/rules/crypto/token.ts'
import { type TestWorkspace, targetOf, useApi } from '../../support/api.ts'
import { allRoutes, codeOf } from '../../support/conformance.ts'
import { oneDialect } from '../../support/databases.ts'

const id = '018f2f5e-7c1a-7000-8000-0123456789ab'
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const behindTokens = allRoutes.filter(({ route }) => !route.isPublic)
const scoped = allRoutes.filter(({ route }) => route.scope !== null)
const ownersOnly = allRoutes.filter(({ route }) => route.role === 'owner')
const current = targetOf(contract.tokens.current, {})

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)
  let workspace: TestWorkspace

  beforeAll(async () => {
    workspace = await api.workspace()
  })

  const statusOf = async (target: string, headers: Record<string, string>) => {
    const { status, body } = await api.send('GET', target, { headers })
    return [status, (body as { errorCode?: string }).errorCode]
  }

  describe.each(behindTokens)('$name', ({ route }) => {
    const target = targetOf(route, { params: { id } })
    const rejection = async (headers: Record<string, string>) => {
      const { status, body } = await api.send(route.method, target, { headers })
      return { status, errorCode: (body as { errorCode: string }).errorCode }
    }

    test('requires a token', async () => {
      expect(await rejection({})).toMatchObject({ status: 401, errorCode: codeOf(route, 'UNAUTHORIZED') })
    })

    test('rejects malformed, unknown, revoked, and expired tokens', async () => {
      const at = api.now
      const expired = await api.token(workspace.id, { expiresAt: at })
      const revoked = await api.token(workspace.id)
      await revoke(revoked)
      for (const token of ['psk_short', newToken(), revoked]) {
        expect(await rejection(bearer(token)), token).toMatchObject({
          status: 401,
          errorCode: codeOf(route, 'TOKEN_INVALID'),
        })
      }
      expect(await rejection(bearer(expired))).toMatchObject({ status: 401, errorCode: codeOf(route, 'TOKEN_EXPIRED') })
    })

    test('rejects two different tokens in one request, even if one is valid', async () => {
      for (const [first, second] of [
        [workspace.token, newToken()],
        [newToken(), workspace.token],
      ]) {
        const both = { ...bearer(first!), 'x-api-key': second! }
        expect(await rejection(both)).toMatchObject({ status: 401, errorCode: codeOf(route, 'TOKEN_INVALID') })
      }
    })

    test('rejects tokens of a suspended or expired workspace', async () => {
      const [suspended, ended] = [await api.workspace(), await api.workspace()]
      await api.services.store.transaction((tx) => tx.workspaces.update(suspended.id, { suspendedAt: api.now }))
      await api.database.writer('workspaces').where({ id: ended.id }).update({ expires_at: api.now.getTime() })
      expect(await rejection(bearer(suspended.token))).toMatchObject({
        status: 403,
        errorCode: codeOf(route, 'TENANT_SUSPENDED'),
      })
      expect(await rejection(bearer(ended.token))).toMatchObject({
        status: 403,
        errorCode: codeOf(route, 'TENANT_EXPIRED'),
      })
    })

    test('accepts a token with only the required scope', async () => {
      const token = await api.token(workspace.id, { scopes: route.scope ? [route.scope] : [] })
      expect([401, 403]).not.toContain((await rejection(bearer(token))).status)
    })
  })

  test.each(scoped)('$name rejects a token with every scope except its own, and names that one', async ({ route }) => {
    const token = await api.token(workspace.id, { scopes: scopes.filter((scope) => scope !== route.scope) })
    const { status, body } = await api.send(route.method, targetOf(route, { params: { id } }), {
      headers: bearer(token),
    })
    expect(status).toBe(403)
    expect((body as ErrorBody).errorCode).toBe(codeOf(route, 'FORBIDDEN'))
    expect(body).toMatchObject({ details: { scope: route.scope } })
  })

  test.each(ownersOnly)('$name rejects a member', async ({ route }) => {
    const token = await api.token(workspace.id, { role: 'member' })
    const { status, body } = await api.send(route.method, targetOf(route, { params: { id } }), {
      headers: bearer(token),
    })
    expect(status).toBe(403)
    expect(body).toMatchObject({ errorCode: codeOf(route, 'FORBIDDEN'), details: { role: 'owner' } })
  })

  test('accepts a token in either header, and in both if they are equal', async () => {
    const { token } = workspace
    for (const headers of [
      bearer(token),
      { 'x-api-key': token },
      { ...bearer(token), 'x-api-key': token },
      { authorization: `bearer  ${token}` },
    ]) {
      expect(await statusOf(current, headers)).toEqual([200, undefined])
    }
  })

  test.each([
    ['a scheme that is not Bearer', { authorization: 'Basic dXNlcjpwYXNz' }, 'TOKEN_INVALID'],
    ['Bearer without a token', { authorization: 'Bearer' }, 'TOKEN_INVALID'],
    ['an empty key', { 'x-api-key': '' }, 'UNAUTHORIZED'],
  ])('rejects %s', async (_, headers, code) => {
    expect(await statusOf(current, headers)).toEqual([401, code])
  })

  test('a revocation, an expiry, and a suspension take effect within a second', async () => {
    const other = await api.workspace()
    const expiring = await api.token(other.id, { expiresAt: new Date(api.now.getTime() + 500) })
    const revoked = await api.token(other.id)
    for (const token of [other.token, expiring, revoked]) expect((await statusOf(current, bearer(token)))[0]).toBe(200)
    await revoke(revoked)
    await api.services.store.transaction((tx) => tx.workspaces.update(other.id, { suspendedAt: api.now }))
    api.advance(0.5)
    expect(await statusOf(current, bearer(expiring))).toEqual([401, 'TOKEN_EXPIRED'])
    api.advance(0.5)
    expect(await statusOf(current, bearer(revoked))).toEqual([401, 'TOKEN_INVALID'])
    expect(await statusOf(current, bearer(other.token))).toEqual([403, 'TENANT_SUSPENDED'])
  })

  test('a token can read its own permissions, and never the token itself', async () => {
    const expiresAt = new Date(api.now.getTime() + 60_000)
    const token = await api.token(workspace.id, { name: 'door', role: 'member', scopes: ['scans:read'], expiresAt })
    const { body, text } = await api.send('GET', current, { headers: bearer(token) })
    expect(body).toMatchObject({
      name: 'door',
      role: 'member',
      scopes: ['scans:read'],
      workspaceId: workspace.id,
      expiresAt: expiresAt.toISOString(),
    })
    expect(text).not.toContain(token)
  })

  async function revoke(text: string): Promise<void> {
    const { store } = api.services
    const token = await store.tokens.findByDigest(tokenDigest(text))
    await store.transaction((tx) => tx.tokens.revoke(token!.workspaceId, token!.id, api.now))
  }
})
