import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { shellQuote } from '../../../src/core/shell-quote.ts'
import { createToken, endingTokens, type MadeToken } from '../../../src/server/create-token.ts'
import { checkWork } from '../../../src/server/operator/doctor/work.ts'
import { rotateToken } from '../../../src/server/operator/manage-tokens.ts'
import { useApi } from '../../support/api.ts'
import { oneDialect } from '../../support/databases.ts'
import { issuedPass } from '../fixtures.ts'

const DAY = 86_400
const bearer = ({ text }: MadeToken) => ({ authorization: `Bearer ${text}` })

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)
  const inSeconds = (seconds: number) => new Date(api.now.getTime() + seconds * 1000)
  const write = <T>(work: Parameters<typeof api.services.store.transaction<T>>[0]) =>
    api.services.store.transaction(work)
  const make = (workspaceId: string, expiresAt?: Date | null) =>
    write((tx) =>
      createToken(tx, workspaceId, { name: 'ci', role: 'member', scopes: ['passes:read'], expiresAt }, api.now),
    )
  const rotate = (workspaceId: string, id: string, overlapSeconds = DAY) =>
    write((tx) => rotateToken(tx, workspaceId, id, { overlapSeconds, expiresAt: undefined, at: api.now }))
  const codeFor = async (token: MadeToken) => {
    const { body } = await api.send('GET', '/v1/tokens/current', { headers: bearer(token) })
    return (body as { errorCode?: string }).errorCode
  }

  test('a token expires in a year by default, and never on request', async () => {
    const { id } = await api.workspace()
    expect((await make(id)).token.expiresAt).toEqual(inSeconds(365 * DAY))
    expect((await make(id, null)).token.expiresAt).toBeNull()
  })

  test('a rotated token works during the overlap, next to its equal successor', async () => {
    const { id } = await api.workspace()
    const first = await make(id, null)
    const { previous, ...second } = await rotate(id, first.token.id)
    expect(second.token).toMatchObject({
      name: 'ci',
      role: 'member',
      scopes: ['passes:read'],
      expiresAt: inSeconds(365 * DAY),
    })
    expect(previous).toMatchObject({ id: first.token.id, expiresAt: inSeconds(DAY), replacedBy: second.token.id })
    const audited = await api.database.writer('audit_entries').where({ workspace_id: id, action: 'token.rotate' })
    expect(audited).toMatchObject([{ target_id: first.token.id }])
    expect(JSON.stringify(audited)).not.toContain(second.text)
    api.advance(DAY - 1)
    expect([await codeFor(first), await codeFor(second)]).toEqual([undefined, undefined])
    api.advance(1)
    expect([await codeFor(first), await codeFor(second)]).toEqual(['TOKEN_EXPIRED', undefined])
  })

  test('an overlap never extends the lifetime of a token', async () => {
    const { id } = await api.workspace()
    const soon = await make(id, inSeconds(60))
    expect((await rotate(id, soon.token.id)).previous.expiresAt).toEqual(inSeconds(60))
  })

  test('one of two concurrent rotations creates a token; ended, revoked, and mismatched tokens create none', async () => {
    const [{ id }, other] = [await api.workspace(), await api.workspace()]
    const { token } = await make(id)
    const results = await Promise.allSettled([rotate(id, token.id), rotate(id, token.id), rotate(id, token.id)])
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected'])
    const follower = (await api.services.store.tokens.list(id)).find((one) => one.id === token.id)!.replacedBy!
    await expect(rotate(id, token.id)).rejects.toThrow(follower)
    expect((await api.services.store.tokens.list(id)).filter(({ name }) => name === 'ci')).toHaveLength(2)

    const [revoked, ended] = [await make(id), await make(id, inSeconds(1))]
    await write((tx) => tx.tokens.revoke(id, revoked.token.id, api.now))
    api.advance(1)
    for (const [{ token: gone }, why] of [
      [revoked, 'revoked'],
      [ended, 'expired'],
    ] as const) {
      await expect(rotate(id, gone.id)).rejects.toThrow(why)
    }
    await expect(rotate(other.id, follower)).rejects.toThrow('Token not found')
  })

  test('reports tokens that end within 30 days, except rotated, revoked, and short-lived ones', async () => {
    const { id } = await api.workspace()
    const near = await make(id, inSeconds(40 * DAY))
    const rotated = await make(id, inSeconds(40 * DAY))
    const revoked = await make(id, inSeconds(40 * DAY))
    const namesOf = async () => (await endingTokens(api.services.store, api.now)).map((token) => token.id)
    expect(await namesOf()).toEqual([])
    api.advance(11 * DAY)
    await make(id, inSeconds(12 * 3_600))
    await rotate(id, rotated.token.id)
    await write((tx) => tx.tokens.revoke(id, revoked.token.id, api.now))
    expect(await namesOf()).toEqual([near.token.id])
    const { name } = (await api.services.store.workspaces.findByNameOrId(id))!
    const tokens = (await checkWork(api.services.store, api.now)).find((check) => check.name === 'Tokens')
    expect(tokens).toMatchObject({
      status: 'FAILED',
      fix: expect.stringContaining(`passes token rotate ${near.token.id} --workspace ${shellQuote(name)}`),
    })
    api.advance(29 * DAY)
    expect(await namesOf()).toEqual([])
  })

  test('links of a suspended workspace keep working, or are closed until it is resumed', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    const other = await issuedPass(await api.workspace())
    const open = async ({ hostedLinks }: typeof pass, headers = {}) =>
      api.send('GET', new URL(hostedLinks.apple!).pathname, { headers })
    const suspend = (at: Date | null, closesLinks = false) =>
      write((tx) => tx.workspaces.update(workspace.id, { suspendedAt: at, linksClosedAt: closesLinks ? at : null }))

    await suspend(api.now)
    expect((await open(pass)).status).toBe(200)
    await suspend(api.now, true)
    const closed = await open(pass, { accept: 'application/json' })
    expect([closed.status, closed.body]).toMatchObject([
      410,
      { errorCode: 'LINK_REVOKED', details: { reason: 'suspended' } },
    ])
    expect((await open(pass)).text).toContain('<h1>This link is closed for now</h1>')
    expect((await open(other)).status).toBe(200)
    await suspend(null)
    expect((await open(pass)).status).toBe(200)
  })

  test('a workspace works until its end, and again if the end is moved', async () => {
    const workspace = await api.workspace()
    await write((tx) => tx.workspaces.update(workspace.id, { expiresAt: inSeconds(60) }))
    expect((await workspace.ok(contract.workspace.get, {})).expiresAt).toBe(inSeconds(60).toISOString())
    api.advance(60)
    expect(await workspace.refused(contract.workspace.get, {})).toMatchObject({
      status: 403,
      errorCode: 'TENANT_EXPIRED',
    })
    await write((tx) => tx.workspaces.update(workspace.id, { expiresAt: null }))
    api.advance(1)
    expect((await workspace.ok(contract.workspace.get, {})).expiresAt).toBeNull()
  })
})
