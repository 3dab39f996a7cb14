import { createPublicKey, randomBytes, sign } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Config } from '../../../src/server/config.ts'
import { makeSandboxIssuer, sandboxIssuers } from '../../../src/server/identities/sandbox.ts'
import {
  addApple,
  addGoogle,
  retireIdentity,
  setDefaultIdentity,
  showIdentity,
} from '../../../src/server/operator/manage-identities.ts'
import { getWorkspace, insertWorkspace, withStore } from '../../../src/server/operator/operator.ts'
import { findSigner } from '../../../src/wallets/sandbox/google/google-token.ts'
import { makeAppleChain } from '../../support/apple-chain.ts'
import { dialects, migratedDatabase, type TestDialect, temporaryFolder } from '../../support/databases.ts'

const ISSUER = '3388000000000000007'
const at = new Date('2026-07-01T12:00:00Z')

async function operator(dialect: TestDialect = 'sqlite') {
  const databaseUrl = await migratedDatabase(dialect)
  const serverKey = randomBytes(32).toString('hex')
  return { databaseUrl, serverKey, previousServerKeys: [], sandboxFolder: temporaryFolder() }
}

const google = { name: 'club', issuerId: ISSUER, isSandbox: true, at }

test('accepts spaces within an identity name, and rejects leading and trailing ones', async () => {
  const config = await operator()
  await addGoogle(config, { ...google, name: 'Harbour Cinema', workspace: 'default' })
  expect(await showIdentity(config, 'Harbour Cinema')).toMatchObject({ name: 'Harbour Cinema' })
  for (const name of [' club', 'club ', '']) {
    await expect(addGoogle(config, { ...google, name, workspace: 'default' })).rejects.toThrow('spaces')
  }
})

test('reports a wrong certificate or key before a missing intermediate certificate', async () => {
  const config = await operator()
  const { certificate, key } = await makeAppleChain(temporaryFolder())
  const add = (from: { certificate: string; key: string }) => addApple(config, { name: 'club', from, at })
  await expect(add({ certificate: key, key: certificate })).rejects.toThrow(`${key} is not a certificate`)
  await expect(add({ certificate, key })).rejects.toThrow('--wwdr')
  const { key: otherKey } = await makeAppleChain(temporaryFolder(), { nth: 1 })
  await expect(add({ certificate, key: otherKey })).rejects.toThrow(`${otherKey} does not belong`)
})

test('using a retired identity reactivates it, since its issuer can have no other one', async () => {
  const config = await operator()
  await addGoogle(config, { ...google, workspace: 'default' })
  const use = (name: string, platform?: 'apple' | 'google') =>
    setDefaultIdentity(config, name, { workspace: 'default', platform, at })
  await expect(retireIdentity(config, 'club', { at })).rejects.toThrow('is the default of the workspace default')
  await use('server')
  expect(await retireIdentity(config, 'club', { at })).toMatchObject({ status: 'retired', uses: [] })
  await expect(addGoogle(config, { ...google, name: 'other' })).rejects.toThrow('passes identity use')
  await expect(use('club', 'apple')).rejects.toThrow('is an identity of Google')
  expect(await showIdentity(config, 'club')).toMatchObject({ status: 'retired' })
  await use('club', 'google')
  expect(await showIdentity(config, 'club')).toMatchObject({ status: 'active', uses: [{ workspace: 'default' }] })
})

test.each(dialects)(
  'on %s, a workspace can retire a non-default identity for itself only, until it is used again',
  async (dialect) => {
    const config = await operator(dialect)
    await addGoogle(config, { ...google, workspace: 'default' })
    const use = (name: string) => setDefaultIdentity(config, name, { workspace: 'agency', platform: 'google', at })
    const retire = () => retireIdentity(config, 'club', { workspace: 'agency', at })
    const seen = () =>
      withStore(config.databaseUrl, async (store) => {
        const { id } = await getWorkspace(store, 'agency')
        const { rows } = await store.identities.list(id, { limit: 10, sortBy: 'name', sortDir: 'asc' })
        const one = rows[0] && (await store.transaction((tx) => tx.identities.findGranted(id, rows[0]!.id)))
        const [last] = (await store.auditLog.list({ workspaceId: id, limit: 1 })).rows
        return [rows.map(({ status }) => status), one?.status, last?.action]
      })
    await withStore(config.databaseUrl, (store) => insertWorkspace(store, 'agency', at))
    await expect(retire()).rejects.toThrow('Workspace agency already cannot use identity club')
    await use('club')
    await expect(retire()).rejects.toThrow('passes identity use server --platform google --workspace "agency"')
    await use('server')
    expect(await seen()).toEqual([['active'], 'active', 'identity.use'])
    const uses = [{ workspace: 'default' }]
    expect(await retire()).toMatchObject({ status: 'active', uses, workspaces: ['default'] })
    expect(await seen()).toEqual([['retired'], 'retired', 'identity.retire'])
    await use('club')
    expect(await seen()).toEqual([['active'], 'active', 'identity.use'])
    expect(await showIdentity(config, 'club')).toMatchObject({ workspaces: ['agency', 'default'] })
  },
)

test('each sandbox key of an issuer stays valid', async () => {
  const config = await operator()
  const folders = config as unknown as Config
  const [first, second] = [await makeSandboxIssuer(folders, ISSUER), await makeSandboxIssuer(folders, ISSUER)]
  const find: Parameters<typeof findSigner>[1] = (fits) => sandboxIssuers(config).find(fits)
  for (const json of [first, second]) {
    const { account, claims } = findSigner(jwtOf(json), find)!
    expect([account.issuerId, claims]).toEqual([ISSUER, { iss: JSON.parse(json).client_email }])
    expect(account.publicKey.equals(createPublicKey(JSON.parse(json).private_key))).toBe(true)
  }
  const [head, claims] = jwtOf(first).split('.')
  expect(findSigner(`${head}.${claims}.${jwtOf(second, { other: 1 }).split('.')[2]}`, find)).toBeUndefined()
})

function jwtOf(serviceAccountJson: string, more: object = {}): string {
  const { client_email: iss, private_key: key } = JSON.parse(serviceAccountJson)
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const content = `${part({ alg: 'RS256' })}.${part({ iss, ...more })}`
  return `${content}.${sign('sha256', Buffer.from(content), key).toString('base64url')}`
}
