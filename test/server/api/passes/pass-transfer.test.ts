import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { Pass, PassTransfer } from '../../../../src/core/contract/passes.ts'
import { sweep } from '../../../../src/server/background/maintenance.ts'
import { erasePass } from '../../../../src/server/operator/erase-pass.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects } from '../../../support/databases.ts'
import { definition, issuedPass, makeProject } from '../../fixtures.ts'
import { usePhones } from '../../inbound/phones.ts'
import { read, traces } from './pass-changes.ts'

const type = 'pass.test.api'

function transfer(workspace: TestWorkspace, id: string, body: PassTransfer, ifMatch?: string) {
  return workspace.call(contract.passes.transfer, { params: { id }, body }, { ...(ifMatch && { 'if-match': ifMatch }) })
}

const formerSerials = ({ api, id }: TestWorkspace): Promise<string[]> =>
  api.database.writer('former_passes').where({ workspace_id: id }).pluck('serial_number')

const scanOf = (workspace: TestWorkspace, qrPayload: string) =>
  workspace.ok(contract.scans.create, { body: { qrPayload } })

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const phones = usePhones(api)
  const stored = async (workspace: TestWorkspace, id: string) =>
    (await api.services.store.passes.find(workspace.id, id))!

  /** Creates a phone that sends requests with the serial number and the token of its copy. */
  function phone(device: string, { serialNumber, appleToken }: { serialNumber: string; appleToken: string }) {
    const headers = { authorization: `ApplePass ${appleToken}` }
    const registrations = `/apple/v1/devices/${device}/registrations/${type}`
    return {
      register: (pushToken: string) =>
        api.send('POST', `${registrations}/${serialNumber}`, { body: { pushToken }, headers }),
      unregister: () => api.send('DELETE', `${registrations}/${serialNumber}`, { headers }),
      changed: async (tag?: string) => {
        const { status, body } = await api.send('GET', `${registrations}${tag ? `?passesUpdatedSince=${tag}` : ''}`)
        return { status, ...(body as { serialNumbers?: string[]; lastUpdated?: string }) }
      },
      fetch: (since?: string) =>
        api.send('GET', `/apple/v1/passes/${type}/${serialNumber}`, {
          headers: { ...headers, ...(since && { 'if-modified-since': since }) },
        }),
    }
  }

  test('the new holder gets new identifiers, and phones of the former holder become void within 30 days', async () => {
    const workspace = await api.workspace()
    const project = await makeProject(workspace)
    const holder = { label: 'Ada Lovelace', variables: { seat: 'A-17' } }
    const { id } = await issuedPass(workspace, { ...holder, projectId: project.id })
    const before = await stored(workspace, id)
    const links = (await read(workspace, id)).hostedLinks
    const ada = phone('ada', before)
    const pushToken = phones.apns.newDeviceToken(type)
    expect((await ada.register(pushToken)).status).toBe(201)
    await phones.addGoogle(workspace.id, id)
    const installs = async () =>
      (await workspace.ok(contract.projects.stats, { params: { id: project.id } })).googleInstallCount
    expect(await installs()).toBe(1)
    const known = await ada.changed()
    const modified = (await ada.fetch()).headers.get('last-modified')!
    const events = (await traces(workspace, id)).events.length

    const answer = await transfer(workspace, id, { label: 'Grace Hopper', variables: { seat: null } }, '"1"')
    expect(answer).toMatchObject({ status: 200, body: { id, label: 'Grace Hopper', variables: {}, revision: 2 } })
    expect(answer.headers.get('etag')).toBe('"2"')
    expect((await traces(workspace, id)).events.slice(events)).toMatchObject([
      { type: 'pass.removed', data: { id, platform: 'apple', devices: 0 } },
      {
        type: 'pass.updated',
        data: { changedFields: ['label', 'variables', 'redemption', 'expiresAt', 'scanCode'] },
      },
    ])
    expect((await transfer(workspace, id, { label: 'Somebody else' }, '"1"')).status).toBe(412)
    for (const link of [links.apple, links.google, links.smart]) {
      expect((await api.send('GET', new URL(link!).pathname, { headers: { accept: 'application/json' } })).status).toBe(
        410,
      )
    }

    const after = await stored(workspace, id)
    expect(after.serialNumber).not.toBe(before.serialNumber)
    expect([after.appleToken, after.scanCode]).not.toEqual([before.appleToken, before.scanCode])
    expect((await scanOf(workspace, before.scanCode)).reasonCode).toBe('stale_identifier')
    expect((await scanOf(workspace, after.scanCode)).reasonCode).toBe('valid')

    // Ada's phone is pushed, and fetches a void pass without data of either holder. Her token works for nothing else.
    await api.runJobs()
    expect(await ada.changed(known.lastUpdated)).toMatchObject({ serialNumbers: [before.serialNumber] })
    const fetched = await ada.fetch(modified)
    expect(fetched.status).toBe(200)
    for (const text of ['"voided":true', before.serialNumber, before.appleToken]) expect(fetched.text).toContain(text)
    for (const text of ['Ada', 'Grace', 'A-17', before.scanCode, after.scanCode, after.appleToken]) {
      expect(fetched.text).not.toContain(text)
    }
    expect((await phone('ada', { ...after, appleToken: before.appleToken }).fetch()).status).toBe(401)
    expect((await phone('ada', { ...before, appleToken: after.appleToken }).fetch()).status).toBe(401)
    expect(await api.services.store.registrations.list(workspace.id, [id])).toEqual([])

    // The previous Google object expires and contains no personal data. The new holder has another one.
    expect(await installs()).toBe(0)
    const google = api.services.google!.api
    const former = await google.getObject('generic', phones.objectId(id))
    expect(former.state).toBe('EXPIRED')
    expect(JSON.stringify(former)).not.toMatch(/Ada|Grace|A-17/)
    await api.services.google!.ensure(after, api.now)
    const fresh = await google.getObject('generic', phones.objectId(after.serialNumber))
    expect([fresh.state, JSON.stringify(fresh)]).toEqual(['ACTIVE', expect.stringContaining('Grace Hopper')])

    // The same phone may have both copies. The copy of the new holder is independent of the old one.
    const grace = phone('ada', after)
    expect((await grace.register(pushToken)).status).toBe(201)
    expect((await ada.unregister()).status).toBe(200)
    expect((await grace.changed()).serialNumbers).toEqual([after.serialNumber])
    expect((await grace.fetch()).text).toContain('Grace Hopper')
    // Restored from a backup, the phone is pushed again and gets the void pass.
    expect((await ada.register(pushToken)).status).toBe(201)
    await api.runJobs()
    expect((await ada.changed()).serialNumbers?.toSorted()).toEqual(
      [before.serialNumber, after.serialNumber].toSorted(),
    )

    api.advance(30 * 86_400)
    expect((await ada.fetch()).status).toBe(401)
    expect((await grace.fetch()).status).toBe(200)
    await sweep(api.services)
    expect(await formerSerials(workspace)).toEqual([before.serialNumber])
    api.advance(1)
    await sweep(api.services)
    expect(await formerSerials(workspace)).toEqual([])
    expect((await grace.changed()).serialNumbers).toEqual([after.serialNumber])
  })

  test('resumes after a kill while notifying Google, and an erasure leaves no data', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const before = await stored(workspace, id)
    await phones.addGoogle(workspace.id, id)
    const ada = phone('ada-2', before)
    expect((await ada.register(phones.apns.newDeviceToken(type))).status).toBe(201)
    expect((await transfer(workspace, id, { label: 'Grace Hopper' })).status).toBe(200)
    // The worker was killed while it had the job. Others claim it when its lease ends.
    const claim = { limit: 100, leaseSeconds: 10 }
    const { store } = api.services
    expect(await store.transaction((tx) => tx.jobs.claim('google', api.now, claim))).toHaveLength(1)
    expect(await store.googleObjects.listTransferred(workspace.id, id)).toHaveLength(1)
    api.advance(11)
    await store.transaction((tx) => tx.jobs.release(api.now))
    await api.runJobs()
    expect(await store.googleObjects.listTransferred(workspace.id, id)).toEqual([])
    expect((await api.services.google!.api.getObject('generic', phones.objectId(id))).state).toBe('EXPIRED')

    await erasePass({ store, database: api.database }, workspace.id, id, api.now)
    const fetched = await ada.fetch()
    expect([fetched.status, fetched.text.includes('"voided":true')]).toEqual([200, true])
    expect(fetched.text).not.toMatch(/Ada Lovelace|Grace/)
  })

  test("content sent to Google during a transfer is the former holder's, and expires", async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const before = await stored(workspace, id)
    expect((await transfer(workspace, id, { label: 'Grace Hopper' })).status).toBe(200)
    // This pass was read before the transfer, and is sent after it.
    await api.services.google!.ensure(before, api.now)
    await api.runJobs()
    expect(await api.services.store.googleObjects.list(workspace.id, [id])).toEqual([])
    expect((await api.services.google!.api.getObject('generic', phones.objectId(id))).state).toBe('EXPIRED')
  })

  test('one of several concurrent transfers of one revision succeeds', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const names = ['Grace', 'Charles', 'Mary']
    const answers = await Promise.all(names.map((label) => transfer(workspace, id, { label }, '"1"')))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412, 412])
    const winner = answers.find(({ status }) => status === 200)!.body as Pass
    expect(await read(workspace, id)).toEqual(winner)
  })
})

describe('on sqlite', () => {
  const api = useApi('sqlite')
  const { design } = definition()

  test('reports a pass that cannot be transferred, and leaves no trace', async () => {
    const workspace = await api.workspace()
    const ofSeat = definition({ design: { ...design, barcode: { message: '{{seat}}' } } })
    const { id } = await issuedPass(workspace, { definition: ofSeat, variables: { seat: 'A-1' } })
    const before = await traces(workspace, id)
    const refused = [
      [{ label: 'Grace' }, 409, 'CONFLICT'],
      [{ label: 'Grace', variables: { seat: 'A-1' } }, 409, 'CONFLICT'],
      [{ label: 'Grace', variables: { seat: 'far too long a seat' } }, 400, 'VALIDATION_ERROR'],
      [{ label: 'Grace', variables: { 'pass.scanCode': 'A' } }, 400, 'SYSTEM_VARIABLE_READONLY'],
      [{ variables: {} }, 400, 'VALIDATION_ERROR'],
    ] as const
    for (const [body, status, errorCode] of refused) {
      expect(await transfer(workspace, id, body as PassTransfer)).toMatchObject({ status, body: { errorCode } })
    }
    expect(await traces(workspace, id)).toEqual(before)
    const same = await transfer(workspace, id, { label: 'Ada Lovelace', variables: { seat: 'A-2' } })
    expect(same).toMatchObject({ status: 200, body: { label: 'Ada Lovelace', revision: 2 } })
    await workspace.ok(contract.passes.void, { params: { id } })
    const voided = await transfer(workspace, id, { label: 'Grace', variables: { seat: 'A-3' } })
    expect(voided).toMatchObject({ status: 409, body: { errorCode: 'PASS_ALREADY_VOIDED' } })
  })
})
