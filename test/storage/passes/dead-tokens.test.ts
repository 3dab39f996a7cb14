import { describe, expect, test } from 'vitest'
import { dialects } from '../../support/databases.ts'
import { insertPasses, insertTemplate, insertWorkspace, newPass, openTestStore, start } from '../fixtures.ts'

describe.each(dialects)('on %s', (dialect) => {
  test('a push token that is dead for one identity ends registrations of its passes, and of no others', async () => {
    const { store, database } = await openTestStore(dialect)
    const workspaceId = await insertWorkspace(store)
    const brand = { isSandbox: false, teamIdentifier: 'BRAND00001', expiresAt: null, issuerId: null }
    const { id: appleIdentityId } = await store.transaction(async (tx) => {
      const identity = { ...brand, platform: 'apple', name: 'brand', passTypeIdentifier: 'pass.brand' } as const
      return (await tx.identities.insert(identity, () => null, start))!
    })
    const version = await insertTemplate(store, workspaceId)
    const passes = [newPass(version), newPass(version, { appleIdentityId })]
    const [ofServer, ofBrand] = (await insertPasses(store, workspaceId, passes)) as [string, string]
    const register = (pushToken: string) =>
      store.transaction(async (tx) => {
        for (const passId of [ofServer, ofBrand])
          await tx.registrations.insert(workspaceId, { passId, deviceId: `phone-${pushToken}`, pushToken }, start)
      })
    const endHolder = (passId: string) =>
      store.transaction(async (tx) => tx.formerPasses.insert((await tx.passes.find(workspaceId, passId))!, start))
    const kept = async (table: string) => (await database.reader(table).pluck('push_token')).sort()
    const end = (identityId: string | null) =>
      store.transaction((tx) => tx.registrations.deleteByTokens(['dead'], identityId))

    // Register for former holders, and then for the present holders.
    await register('dead')
    for (const passId of [ofServer, ofBrand]) await endHolder(passId)
    await register('dead')
    await register('alive')
    expect(await end(appleIdentityId)).toEqual([{ workspaceId, passId: ofBrand, pushToken: 'dead' }])
    expect(await kept('apple_registrations')).toEqual(['alive', 'alive', 'dead'])
    expect(await kept('former_registrations')).toEqual(['dead'])
    expect(await end(null)).toEqual([{ workspaceId, passId: ofServer, pushToken: 'dead' }])
    expect(await kept('apple_registrations')).toEqual(['alive', 'alive'])
    expect(await kept('former_registrations')).toEqual([])
  })
})
