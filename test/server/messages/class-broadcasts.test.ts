import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { Broadcast, BroadcastCreate, BroadcastForecast } from '../../../src/core/contract/messages/broadcasts.ts'
import { GoogleApiError } from '../../../src/wallets/google/api/api-error.ts'
import { type GoogleMessage, MAX_MESSAGES } from '../../../src/wallets/google/api/google-api.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { definition, makePass, makeProject, publishedTemplate, publishVersion } from '../fixtures.ts'
import { usePhones } from '../inbound/phones.ts'

const { create, get, stats } = contract.broadcasts
const text = { body: 'Doors open at 7', googleVia: 'class' } as const

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const phones = usePhones(api)
  let workspace: TestWorkspace

  beforeAll(async () => {
    workspace = await api.workspace()
  })
  afterEach(() => {
    api.faults.replace([])
    vi.restoreAllMocks()
  })

  /** Creates a project with the given number of passes at Google for each version. */
  async function held(...perVersion: number[]) {
    const project = await makeProject(workspace)
    const template = await publishedTemplate(workspace, { projectId: project.id })
    const passIds: string[] = []
    for (const [n, passes] of perVersion.entries()) {
      if (n > 0) await publishVersion(workspace, template.id, definition())
      const ofVersion: string[] = []
      for (let made = 0; made < passes; made += 1) ofVersion.push((await makePass(workspace, template.id)).id)
      await api.runJobs()
      for (const id of ofVersion) await phones.addGoogle(workspace.id, id)
      passIds.push(...ofVersion)
    }
    return { params: { id: project.id }, passIds, templateId: template.id }
  }

  const send = async (params: { id: string }, body: Partial<BroadcastCreate> = {}) =>
    (await workspace.ok(create, { params, body: { ...text, ...body } })) as Broadcast

  const notified = async (passId: string) =>
    (await workspace.ok(contract.notifications.list, { params: { id: passId } })).items

  /** The messages of the class of a version that Google has. */
  async function messagesOf(templateId: string, version = 1): Promise<(GoogleMessage & { messageType: string })[]> {
    const { api: google, wallet } = await api.services.google!.sideOf({ googleIdentityId: null })
    const id = `${wallet.issuerId}.template-${templateId}-v${version}-generic`
    return ((await google.getObject('generic', id, 'Class')).messages ?? []) as never
  }

  const spyOnMessages = () => vi.spyOn(api.services.google!.api.bulk, 'addMessage')

  test('a class broadcast to 12 passes sends one message and records an outcome per pass', async () => {
    const { params, passIds, templateId } = await held(12)
    await phones.addApple(workspace.id, passIds[0]!)
    const messages = spyOnMessages()
    const sent = await send(params, { options: { google: { header: 'Tonight' } } })
    expect(sent).toMatchObject({ googleVia: 'class' })
    await api.runJobs()
    expect(messages).toHaveBeenCalledTimes(1)
    expect(await messagesOf(templateId)).toMatchObject([
      { id: sent.id, header: 'Tonight', body: text.body, messageType: 'TEXT_AND_NOTIFY' },
    ])
    for (const [n, passId] of passIds.entries()) {
      expect(await notified(passId)).toMatchObject([
        {
          broadcastId: sent.id,
          status: 'SENT',
          apple: { status: n === 0 ? 'SENT' : 'SKIPPED' },
          google: { status: 'SENT' },
        },
      ])
    }
    expect(await phones.messages(passIds[0]!)).toEqual([])
    const named = { params: { ...params, broadcastId: sent.id } }
    expect(await workspace.ok(get, named)).toMatchObject({ googleVia: 'class', passCount: 12 })
    expect(await workspace.ok(stats, named)).toMatchObject({ fannedOut: 12, sent: 12, pending: 0, classErrors: [] })
  })

  test('a dry run reports a class per version, and the passes outside the broadcast that receive it', async () => {
    const { params, passIds, templateId } = await held(2, 1)
    await workspace.ok(contract.passes.void, { params: { id: passIds[0]! }, body: {} })
    const dryRun = async (googleVia: 'class' | 'object') =>
      (
        (await workspace.ok(create, {
          params,
          query: { dryRun: true },
          body: { ...text, googleVia },
        })) as BroadcastForecast
      ).google
    expect(await dryRun('class')).toEqual({ passCount: 2, classes: 2, others: 1, overCap: 0, seconds: 1 })
    expect(await dryRun('object')).toEqual({ passCount: 2, classes: 0, others: 0, overCap: 0, seconds: 1 })
    const messages = spyOnMessages()
    await send(params)
    await api.runJobs()
    expect(messages).toHaveBeenCalledTimes(2)
    for (const version of [1, 2]) expect(await messagesOf(templateId, version)).toHaveLength(1)
    expect(await notified(passIds[0]!)).toEqual([])
    for (const id of passIds.slice(1)) expect(await notified(id)).toMatchObject([{ google: { status: 'SENT' } }])
  })

  test('a broadcast sent with googleVia object adds no message to the class', async () => {
    const { params, passIds, templateId } = await held(2)
    expect(await send(params, { googleVia: 'object' })).toMatchObject({ googleVia: 'object' })
    await api.runJobs()
    expect(await messagesOf(templateId)).toEqual([])
    for (const id of passIds) expect(await phones.messages(id)).toHaveLength(1)
  })

  test('rejects a class broadcast without google, or if passes of another project share the classes', async () => {
    const { params, passIds } = await held(2)
    const refusal = { status: 400, errorCode: 'VALIDATION_ERROR', details: { issues: [{ path: ['googleVia'] }] } }
    const apple = { params, body: { ...text, platforms: ['apple' as const] } }
    expect(await workspace.refused(create, apple)).toMatchObject(refusal)
    const scheduled = await send(params, { sendAt: new Date(api.now.getTime() + 60_000).toISOString() })
    const other = await makeProject(workspace)
    await api.database.writer('passes').where({ id: passIds[0]! }).update({ project_id: other.id })
    expect(await workspace.refused(create, { params, body: text })).toMatchObject(refusal)
    expect(await workspace.refused(create, { params, query: { dryRun: true }, body: text })).toMatchObject(refusal)
    // A scheduled broadcast sends to objects, and reports that.
    api.advance(60)
    await api.runJobs()
    const named = { params: { ...params, broadcastId: scheduled.id } }
    expect(await workspace.ok(get, named)).toMatchObject({ googleVia: 'object', passCount: 1 })
    expect(await phones.messages(passIds[1]!)).toHaveLength(1)
    expect(await phones.messages(passIds[0]!)).toEqual([])
  })

  test('a class message whose process is killed before it is recorded is not sent again', async () => {
    const { params, passIds, templateId } = await held(3)
    const messages = spyOnMessages()
    const { store } = api.services
    const transaction = store.transaction.bind(store)
    let isKilled = false
    // After the message is sent, all writes fail, so nothing about it is stored.
    vi.spyOn(store, 'transaction').mockImplementation(((work: never) =>
      messages.mock.calls.length > 0 && !isKilled
        ? Promise.reject(Object.assign(new Error('killed'), { code: 'killed' }))
        : transaction(work)) as never)
    const sent = await send(params)
    await expect(api.runJobs()).rejects.toThrow('killed')
    isKilled = true
    expect(await notified(passIds[0]!)).toMatchObject([{ google: { status: 'PENDING' } }])
    // The jobs return before the message can be sent, and wait.
    for (let turn = 0; turn < 4; turn += 1) {
      api.advance(20)
      await store.transaction((tx) => tx.jobs.release(api.now))
      await api.runJobs()
    }
    expect(messages).toHaveBeenCalledTimes(1)
    expect((await messagesOf(templateId)).map(({ id }) => id)).toEqual([sent.id])
    for (const id of passIds) expect(await notified(id)).toMatchObject([{ google: { status: 'SENT' } }])
  })

  test('an error of Google for the class is recorded for each of its passes', async () => {
    const { params, passIds } = await held(2)
    api.faults.replace(['google-quota'])
    const { id: broadcastId } = await send(params)
    await api.runJobs()
    const { failed, classErrors } = await workspace.ok(stats, { params: { ...params, broadcastId } })
    expect({ failed, classErrors }).toEqual({
      failed: 2,
      classErrors: [
        expect.stringMatching(/^PASS_NOTIFICATION_RATE_LIMITED: Google responded with 403 \(quotaExceeded\)/),
      ],
    })
    for (const id of passIds) {
      const [notification] = await notified(id)
      expect(notification!.google).toMatchObject({
        status: 'FAILED',
        error: expect.stringMatching(/^PASS_NOTIFICATION_RATE_LIMITED/),
      })
    }
  })

  test('a class broadcast counts toward the daily cap of 3 of each pass that it reaches', async () => {
    const { params, passIds } = await held(1)
    for (let n = 0; n < 4; n += 1) {
      await send(params)
      await api.runJobs()
      api.advance(1)
    }
    const states = (await notified(passIds[0]!)).map(({ google }) => google.status)
    expect(states).toEqual(['FAILED', 'SENT', 'SENT', 'SENT'])
  })

  test('a class broadcast fails for a pass at its cap, and is sent for the others', async () => {
    const { params, passIds, templateId } = await held(2)
    const [full, other] = passIds as [string, string]
    for (let n = 0; n < 3; n += 1) {
      await workspace.ok(contract.notifications.create, { params: { id: full }, body: { body: 'x' } })
    }
    await send(params)
    await api.runJobs()
    const ofBroadcast = (await notified(full)).find(({ broadcastId }) => broadcastId)
    expect(ofBroadcast!.google.error).toMatch(/^PASS_NOTIFICATION_RATE_LIMITED/)
    expect(await notified(other)).toMatchObject([{ google: { status: 'SENT' } }])
    expect(await messagesOf(templateId)).toHaveLength(1)
  })

  test('creates a class that is missing at Google, then sends it the message', async () => {
    const { params, passIds, templateId } = await held(1)
    const gone = new GoogleApiError({ kind: 'missing', status: 404, message: 'The class does not exist.' })
    spyOnMessages().mockRejectedValueOnce(gone)
    const classes = vi.spyOn(api.services.google!.api.bulk, 'insertClass')
    await send(params)
    await api.runJobs()
    expect(classes).toHaveBeenCalledTimes(1)
    expect(await messagesOf(templateId)).toHaveLength(1)
    expect(await notified(passIds[0]!)).toMatchObject([{ google: { status: 'SENT' } }])
  })

  test('retries a class broadcast during an outage of Google', async () => {
    const { params, passIds, templateId } = await held(2)
    api.faults.replace(['google-500'])
    await send(params)
    await api.runJobs()
    expect(await notified(passIds[0]!)).toMatchObject([{ google: { status: 'PENDING' } }])
    api.faults.replace([])
    for (let turn = 0; turn < 10; turn += 1) {
      api.advance(30)
      await api.runJobs()
    }
    expect(await messagesOf(templateId)).toHaveLength(1)
    for (const id of passIds) expect(await notified(id)).toMatchObject([{ google: { status: 'SENT' } }])
  })

  test('an update of a class keeps messages of broadcasts, as plain text', async () => {
    const { params, templateId } = await held(1)
    const ids: string[] = []
    for (let n = 0; n < 2; n += 1) ids.push((await send(params)).id)
    await api.runJobs()
    const { store, google } = api.services
    const [version] = await store.templateVersions.listNewestPublished(workspace.id, [templateId])
    await google!.upsertClass(workspace.id, version!, { issuer: { googleIdentityId: null } })
    const kept = await messagesOf(templateId)
    expect(kept.map(({ id, messageType }) => [id, messageType]).sort()).toEqual(ids.map((id) => [id, 'TEXT']).sort())
    expect(kept.length).toBeLessThan(MAX_MESSAGES)
  })
})
