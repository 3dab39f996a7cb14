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

  test.each([
    ['', 'its pass and kind'],
    [' of before', 'its pass'],
  ])(
    'an activation of an object%s, called as %s, is kept with the moment of the first, and installs nothing',
    async (age) => {
      api.now = at
      const workspace = await api.workspace()
      const { id } = await issuedPass(workspace)
      await phones.addGoogle(workspace.id, id)
      const isOld = age !== ''
      if (isOld) await api.database.writer('google_objects').where({ pass_id: id }).update({ object_suffix: null })
      const app = new H3()
      const verify = async (body: unknown) => verifyCallback({ body, issuerId, rootKeys: [rootKey()], at })
      mountGoogleCallbacks(app, api.services, { verify }, () => undefined)
      const stateAfter = async (eventType: string) => {
        const objectId = `${issuerId}.${id}${isOld ? '' : '-generic'}`
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
    },
  )
})
