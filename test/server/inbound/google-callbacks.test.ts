import { randomUUID } from 'node:crypto'
import { H3 } from 'h3'
import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { mountGoogleCallbacks } from '../../../src/server/inbound/google-callbacks.ts'
import { verifyCallback } from '../../../src/wallets/google/callbacks.ts'
import { useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { callback, HOUR, issuerId, rootKey } from '../../wallets/google/callback-samples.ts'
import { at } from '../../wallets/google/samples.ts'
import { issuedPass } from '../fixtures.ts'
import { usePhones } from './phones.ts'

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const phones = usePhones(api)

  test('an activated Google object keeps its first activation time and installs nothing', async () => {
    api.now = at
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    await phones.addGoogle(workspace.id, id)
    const app = new H3()
    const verify = async (body: unknown) => verifyCallback({ body, issuerId, rootKeys: [rootKey()], at })
    const of = async () => ({ callbacks: { verify } }) as never
    const services = { ...api.services, identities: { ...api.services.identities, of } }
    mountGoogleCallbacks(app, services, () => undefined)
    const stateAfter = async (eventType: string) => {
      const objectId = `${issuerId}.${id}-generic`
      const expTimeMillis = at.getTime() + HOUR
      const body = JSON.stringify(callback({ message: { objectId, eventType, expTimeMillis, nonce: randomUUID() } }))
      const headers = { 'content-type': 'application/json' }
      expect((await app.request('/google/callbacks', { method: 'POST', headers, body })).status).toBe(200)
      return (await workspace.ok(contract.passes.wallets, { params: { id } })).google
    }
    const installedAt = at.toISOString()
    expect(await stateAfter('activate')).toMatchObject({ activatedAt: at.toISOString(), installedAt })
    api.advance(60)
    expect(await stateAfter('activate')).toMatchObject({ activatedAt: at.toISOString(), installedAt })
    expect(await stateAfter('del')).toMatchObject({ activatedAt: at.toISOString(), installedAt: null })
  })

  test('saves and removals reported by Google emit one event each, in any order', async () => {
    api.now = at
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const pass = (await api.services.store.passes.find(workspace.id, id))!
    await api.services.google!.ensure(pass, api.now)
    const app = new H3()
    const verify = async (body: unknown) => verifyCallback({ body, issuerId, rootKeys: [rootKey()], at })
    const of = async () => ({ callbacks: { verify } }) as never
    const services = { ...api.services, identities: { ...api.services.identities, of } }
    mountGoogleCallbacks(app, services, () => undefined)
    const call = async (eventType: string, nonce: string) => {
      const message = { objectId: `${issuerId}.${id}-generic`, eventType, expTimeMillis: at.getTime() + HOUR, nonce }
      const headers = { 'content-type': 'application/json' }
      const body = JSON.stringify(callback({ message }))
      expect((await app.request('/google/callbacks', { method: 'POST', headers, body })).status).toBe(200)
    }
    // A removal before the save is neither an addition nor a removal.
    for (const type of ['del', 'save']) await call(type, randomUUID())
    const one = randomUUID()
    for (const nonce of [one, one, randomUUID()]) await call('save', nonce)
    for (let n = 0; n < 2; n += 1) await call('del', randomUUID())
    await Promise.all([call('save', randomUUID()), call('save', randomUUID())])
    const told = (await workspace.events(id)).filter(({ type }) => /installed|removed/.test(String(type)))
    expect(told.map(({ type, data }) => [type, data.platform, data.devices])).toEqual([
      ['pass.installed', 'google', 1],
      ['pass.removed', 'google', 0],
      ['pass.installed', 'google', 1],
    ])
  })
})
