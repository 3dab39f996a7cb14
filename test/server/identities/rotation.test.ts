import { randomBytes } from 'node:crypto'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import type { ServerKeys } from '../../../src/core/rules/crypto/server-key.ts'
import { isSealedUnder } from '../../../src/core/rules/crypto/server-key.ts'
import { resealIdentities } from '../../../src/server/identities/credentials.ts'
import { createIdentities, createOpeners } from '../../../src/server/identities/registry.ts'
import { addApple, addGoogle } from '../../../src/server/operator/manage-identities.ts'
import { renewIdentity } from '../../../src/server/operator/renew-identity.ts'
import { createStore } from '../../../src/storage/store.ts'
import type { AppleIdentity } from '../../../src/wallets/apple/apple-identity.ts'
import { openTestDatabase } from '../../storage/fixtures.ts'
import { sandboxAccount, sandboxChain } from '../../support/chains.ts'
import { dialects, migratedDatabase } from '../../support/databases.ts'

const at = new Date()
const [old, next] = [randomBytes(32), randomBytes(32)]

/** Returns the secrets of a pass type as PEM text, in the place of its files. */
async function filesOf(nth: number) {
  const { certificatePem, keyPem, wwdrPem } = await sandboxChain({
    passTypeIdentifier: 'pass.test.rotated',
    teamIdentifier: 'ROTATED001',
    nth,
  })
  return { certificate: certificatePem, key: keyPem, wwdr: wwdrPem }
}

function open(databaseUrl: string) {
  const database = openTestDatabase(databaseUrl)
  return { database, store: createStore(database) }
}

let files: Awaited<ReturnType<typeof filesOf>>
let renewed: typeof files
let keyFile: string

beforeAll(async () => {
  ;[files, renewed] = [await filesOf(0), await filesOf(1)]
  keyFile = (await sandboxAccount()).serviceAccountJson
})

/**
 * Simulates the identities of a process of a fleet, with its own server keys. Returns the certificates that it signs
 * with, by identity.
 */
function startProcess(databaseUrl: string, keys: ServerKeys) {
  const { store } = open(databaseUrl)
  const signers = new Map<string, AppleIdentity>()
  const told: object[] = []
  const log = { info: () => undefined, error: (what: object) => told.push(what) }
  const identities = createIdentities({
    store,
    wallets: { all: [], sandboxed: [] },
    server: () => ({ apple: { wallet: {} as never, push: undefined }, google: {} as never }),
    openers: createOpeners({
      keys,
      createWallets: {
        apple(identity) {
          const type = identity.passTypeIdentifier
          signers.set(type, identity)
          return { renew: (renewed: AppleIdentity) => void signers.set(type, renewed) } as never
        },
        google: ({ issuerId }) => ({ issuerId }) as never,
      },
      connections: {
        openPush: () => ({ renew: () => undefined, close: async () => undefined }) as never,
        openGoogle: async () => ({ api: {} as never, callbacks: {} as never }),
      },
    }),
    onChanged: () => undefined,
    log: log as never,
  })
  onTestFinished(identities.close)
  const signer = () => signers.get('pass.test.rotated')?.certificatePem.trim()
  return { identities, store, keys, signer, told, reseal: () => resealIdentities(store, keys, log as never) }
}

test.each(dialects)(
  'on %s a fleet rotates the server key one process at a time, and identities work at every step',
  async (dialect) => {
    const databaseUrl = await migratedDatabase(dialect)
    const operator = { databaseUrl, serverKey: old.toString('hex'), previousServerKeys: [] as string[] }
    const { id: appleId } = await addApple(operator, { name: 'acme', from: files, at })
    const { id: googleId } = await addGoogle(operator, { name: 'acme-google', issuerId: '338', keyFile, at })

    // Each process knows both keys. `ahead` seals with the new one, `behind` with the old one.
    const behind = startProcess(databaseUrl, { current: old, previous: [next] })
    const ahead = startProcess(databaseUrl, { current: next, previous: [old] })
    await ahead.reseal()
    const stored = await ahead.store.identities.listAll()
    expect(stored.map(({ sealed }) => isSealedUnder(sealed!, next))).toEqual([true, true])
    for (const { identities, signer } of [behind, ahead]) {
      await identities.of('apple', appleId)
      expect((await identities.of('google', googleId))?.wallet.issuerId).toBe('338')
      expect(signer()).toBe(files.certificate.trim())
    }

    // A renewal under the new key reaches the process that still seals under the old one.
    const withNew = { ...operator, serverKey: next.toString('hex'), previousServerKeys: [operator.serverKey] }
    await renewIdentity(withNew, 'acme', { files: renewed, at })
    for (const { identities, signer, told } of [behind, ahead]) {
      await identities.refresh()
      expect(signer()).toBe(renewed.certificate.trim())
      expect(told).toEqual([])
    }

    // The old key is no longer needed.
    const alone = startProcess(databaseUrl, { current: next, previous: [] })
    await alone.reseal()
    await alone.identities.of('apple', appleId)
    expect((await alone.identities.of('google', googleId))?.wallet.issuerId).toBe('338')
    expect([alone.signer(), alone.told]).toEqual([renewed.certificate.trim(), []])
  },
)

test.each(dialects)(
  'on %s an identity under a lost key is named, others get the new key, and a renewal fixes it',
  async (dialect) => {
    const databaseUrl = await migratedDatabase(dialect)
    const operator = { databaseUrl, serverKey: old.toString('hex'), previousServerKeys: [] }
    const { id: appleId } = await addApple(operator, { name: 'acme', from: files, at })
    const { id: googleId } = await addGoogle(operator, { name: 'acme-google', issuerId: '338', keyFile, at })
    const { database } = open(databaseUrl)
    await database.writer('identities').where({ id: appleId }).update({ sealed: 'lost:lost' })

    const one = startProcess(databaseUrl, { current: next, previous: [old] })
    await one.reseal()
    expect(one.told).toEqual([expect.objectContaining({ identity: 'acme' })])
    expect((await one.identities.of('google', googleId))?.wallet.issuerId).toBe('338')
    await expect(one.identities.of('apple', appleId)).rejects.toThrow('Identity acme is not usable')

    const { wwdr: _, ...withoutWwdr } = files
    await expect(renewIdentity(operator, 'acme', { files: withoutWwdr, at })).rejects.toThrow('--wwdr')
    await renewIdentity(operator, 'acme', { files, at })
    await one.identities.refresh()
    await one.identities.of('apple', appleId)
    expect(one.signer()).toBe(files.certificate.trim())
  },
)
