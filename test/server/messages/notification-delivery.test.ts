import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { MessageCreate } from '../../../src/core/contract/messages/notifications.ts'
import { sendNotifications } from '../../../src/server/messages/send-notification.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects, oneDialect } from '../../support/databases.ts'
import { issuedPass } from '../fixtures.ts'
import { usePhones } from '../inbound/phones.ts'

const { create, get } = contract.notifications

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const phones = usePhones(api)
  let workspace: TestWorkspace

  beforeAll(async () => {
    workspace = await api.workspace()
  })
  afterEach(() => api.faults.replace([]))

  async function passOn(...platforms: ('apple' | 'google')[]) {
    const { id } = await issuedPass(workspace)
    if (platforms.includes('apple')) await phones.addApple(workspace.id, id)
    if (platforms.includes('google')) await phones.addGoogle(workspace.id, id)
    return id
  }

  const schedule = async (passId: string, body: Partial<MessageCreate> = {}) => {
    const { id } = await workspace.ok(create, { params: { id: passId }, body: { body: 'Doors open at 7', ...body } })
    return () => workspace.ok(get, { params: { id: passId, notificationId: id } })
  }

  async function send(passId: string, body: Partial<MessageCreate> = {}) {
    const read = await schedule(passId, body)
    await api.runJobs()
    return read()
  }

  const backFields = async (passId: string) => {
    const { store, issuing, wallets } = api.services
    const pass = (await store.passes.find(workspace.id, passId))!
    const style = wallets.apple!.passJson(await issuing.render(pass)).generic as {
      backFields?: Record<string, string>[]
    }
    return style.backFields ?? []
  }

  test('both wallets of a pass show the text, and the notification is SENT', async () => {
    const id = await passOn('apple', 'google')
    await phones.addApple(workspace.id, id)
    const before = (await api.services.store.passes.find(workspace.id, id))!
    const notification = await send(id, { options: { google: { header: 'Tonight' } } })
    expect(notification).toMatchObject({
      status: 'SENT',
      apple: { status: 'SENT', deviceCount: 2 },
      google: { status: 'SENT' },
    })
    const [field] = await backFields(id)
    expect(field).toMatchObject({ key: 'message', changeMessage: '%@' })
    expect(field!.value).toContain('Doors open at 7')
    expect(await phones.messages(id)).toEqual([
      { id: notification.id, header: 'Tonight', body: 'Doors open at 7', messageType: 'TEXT_AND_NOTIFY' },
    ])
    const after = (await api.services.store.passes.find(workspace.id, id))!
    expect([after.revision, after.walletVersion]).toEqual([before.revision, before.walletVersion + 1])
    expect(after.modifiedAt > before.modifiedAt).toBe(true)
    const wallets = await workspace.ok(contract.passes.wallets, { params: { id } })
    expect(wallets.google?.state).toBe('current')
    expect(wallets.apple.map(({ pushedVersion }) => pushedVersion)).toEqual([after.walletVersion, after.walletVersion])
  })

  test('a phone that lists changes as soon as it is pushed gets the pass', async () => {
    const id = await passOn('apple')
    const { store, push } = api.services
    const [registration] = await store.registrations.list(workspace.id, [id])
    const { deviceId } = registration!
    const { place } = await store.deviceLists.listChanged(deviceId, null, [null], api.now)
    const answers: unknown[] = []
    const pushing = vi.spyOn(push!, 'send').mockImplementation(async (pushTokens) => {
      answers.push(await store.deviceLists.listChanged(deviceId, place, [null], api.now))
      return pushTokens.map((pushToken) => ({ pushToken, outcome: 'sent' as const, reason: null }))
    })
    onTestFinished(() => pushing.mockRestore())
    await send(id)
    expect(answers).toMatchObject([{ serialNumbers: [id] }])
  })

  test('a notification sends an outdated object to google, and a current one stays current', async () => {
    const id = await passOn('apple', 'google')
    const google = async () => (await workspace.ok(contract.passes.wallets, { params: { id } })).google!
    await api.database.writer('google_objects').where({ pass_id: id }).update({ sent_version: 0 })
    expect((await google()).state).toBe('stale')
    await send(id)
    const { walletVersion } = (await api.services.store.passes.find(workspace.id, id))!
    expect(await google()).toMatchObject({ state: 'current', sentVersion: walletVersion })
    await send(id)
    expect(await google()).toMatchObject({ state: 'current', sentVersion: walletVersion + 1 })
  })

  test('delivers two concurrent notifications of a pass, and keeps the later one on the back', async () => {
    const id = await passOn('apple')
    const [one, other] = [await schedule(id, { body: 'one' }), await schedule(id, { body: 'other' })]
    await api.runJobs()
    expect([await one(), await other()]).toMatchObject([{ status: 'SENT' }, { status: 'SENT' }])
    expect((await backFields(id))[0]!.value).toContain('other')
  })

  test('a dead registration is removed, and a pass with only that one has no holder', async () => {
    const id = await passOn()
    phones.apns.retireDeviceToken(await phones.addApple(workspace.id, id))
    expect(await send(id)).toMatchObject({ status: 'SKIPPED' })
    expect(await api.services.store.registrations.list(workspace.id, [id])).toEqual([])
  })

  test('repeats a run that crashed before it recorded its result, and notifies no phone twice', async () => {
    const id = await passOn('apple', 'google')
    await send(id)
    const { store } = api.services
    // The state after a crash: the message is sent, but nothing about it is stored.
    const read = await schedule(id, { body: 'Again' })
    const lost = async (queue: 'pushes' | 'google') => {
      const claim = { priority: 'urgent' as const, limit: 1, leaseSeconds: 10 }
      return (await store.transaction((tx) => tx.jobs.claim(queue, api.now, claim)))[0]!
    }
    await lost('pushes')
    api.advance(10)
    await store.transaction((tx) => tx.jobs.release(api.now))
    const [first] = await store.transaction((tx) =>
      tx.jobs.claim('quarantine', api.now, { limit: 1, leaseSeconds: 10 }),
    )
    await sendNotifications([first!], api.services)
    const { id: messageId } = await read()
    const pass = (await store.passes.find(workspace.id, id))!
    await lost('google')
    const message = { id: messageId, header: undefined, body: 'Again', mayBeThere: false, isBulk: false }
    await api.services.google!.message(pass, message)
    api.advance(10)
    await store.transaction((tx) => tx.jobs.release(api.now))
    await api.runJobs()
    expect(await read()).toMatchObject({ status: 'SENT' })
    expect((await phones.messages(id)).map(({ body }) => body)).toEqual(['Doors open at 7', 'Again'])
    expect((await store.passes.find(workspace.id, id))!.message?.number).toBe(2)
  })

  // The following cases use the same statements.
  if (oneDialect.includes(dialect)) {
    test('a platform without holders is SKIPPED, and so is the notification if no platform has any', async () => {
      expect(await send(await passOn('apple'))).toMatchObject({ status: 'SENT', google: { status: 'SKIPPED' } })
      const onGoogle = await send(await passOn('google'))
      expect(onGoogle).toMatchObject({ status: 'SENT', apple: { status: 'SKIPPED', deviceCount: 0 } })
      expect(await send(await passOn())).toMatchObject({ status: 'SKIPPED' })
      const other = await passOn('google')
      expect(await send(other, { platforms: ['apple'] })).toMatchObject({ status: 'SKIPPED' })
      expect(await phones.messages(other)).toEqual([])
    })

    test.each([{}, { google: { header: '' } }])(
      'the header defaults to the organization name for options %j',
      async (options) => {
        const id = await passOn('google')
        expect(await send(id, { options })).toMatchObject({ options })
        expect(await phones.messages(id)).toMatchObject([{ header: 'Harbour Cinema' }])
      },
    )

    test('announces a text that is sent twice each time', async () => {
      const id = await passOn('apple')
      await send(id)
      const [first] = await backFields(id)
      await send(id)
      const [second] = await backFields(id)
      expect(second!.value).not.toBe(first!.value)
      expect(await backFields(id)).toHaveLength(1)
    })

    test("a notification over Google's quota is PARTIAL with the reason, and is not retried", async () => {
      api.faults.replace(['google-quota'])
      const id = await passOn('apple', 'google')
      const notification = await send(id)
      expect(notification).toMatchObject({ status: 'PARTIAL', apple: { status: 'SENT' }, google: { status: 'FAILED' } })
      expect(notification.google.error).toMatch(/^PASS_NOTIFICATION_RATE_LIMITED: .*quotaExceeded/)
      expect(await api.database.writer('jobs').where({ workspace_id: workspace.id })).toEqual([])
    })

    test('retries temporary rejections of a platform until it accepts, and shows each text once', async () => {
      const id = await passOn('apple', 'google')
      api.faults.replace(['apns-503', 'google-503'])
      const read = await schedule(id)
      await api.runJobs()
      expect(await read()).toMatchObject({ status: 'PENDING', apple: { status: 'PENDING' } })
      api.faults.replace([])
      api.advance(2)
      await api.runJobs()
      expect(await read()).toMatchObject({ status: 'SENT', apple: { deviceCount: 1 } })
      expect(await phones.messages(id)).toHaveLength(1)
      expect((await api.services.store.passes.find(workspace.id, id))!.message?.number).toBe(1)
    })

    test('a notification is FAILED on a platform that stays unavailable for all attempts', async () => {
      const id = await passOn('apple', 'google')
      api.faults.replace(['apns-down'])
      const read = await schedule(id)
      for (let run = 0; run < 8; run += 1) {
        await api.runJobs()
        api.advance(300)
      }
      const notification = await read()
      expect(notification).toMatchObject({ status: 'PARTIAL', apple: { status: 'FAILED' }, google: { status: 'SENT' } })
      expect(notification.apple.error).toMatch(/^APPLE_APNS_FAILED: /)
    })

    test.each([
      ['a notification', (id: string) => send(id)],
      [
        'an update',
        async (id: string) => {
          const { revision } = await workspace.ok(contract.passes.get, { params: { id } })
          await workspace.ok(contract.passes.update, { params: { id }, body: { label: `Grace ${revision}` } })
          await api.runJobs()
        },
      ],
    ])('logs a registration dropped on %s with the reason and without its token', async (_, push) => {
      const id = await passOn('apple')
      const dead = await phones.addApple(workspace.id, id)
      phones.apns.retireDeviceToken(dead)
      const warn = vi.spyOn(api.services.log, 'warn')
      onTestFinished(() => warn.mockRestore())
      await push(id)
      const facts = { workspaceId: workspace.id, passId: id, reason: 'Unregistered' }
      expect(warn.mock.calls).toEqual([[facts, 'a device registration was dropped']])
      const { store } = api.services
      const [alive, ...others] = await store.registrations.list(workspace.id, [id])
      expect(others).toEqual([])
      await store.transaction((tx) => tx.heldPasses.settle(workspace.id, [id]))
      phones.apns.retireDeviceToken(alive!.pushToken)
      await push(id)
      expect((await workspace.events(id)).at(-1)).toMatchObject({
        type: 'pass.removed',
        data: { id, platform: 'apple', devices: 0 },
        correlationId: null,
      })
    })

    test('a scheduled notification of a voided pass is SKIPPED on both platforms', async () => {
      const id = await passOn('apple', 'google')
      const sendAt = new Date(api.now.getTime() + 60_000).toISOString()
      const read = await schedule(id, { sendAt })
      await workspace.ok(contract.passes.void, { params: { id }, body: {} })
      api.advance(60)
      await api.runJobs()
      const skipped = { status: 'SKIPPED', apple: { status: 'SKIPPED' }, google: { status: 'SKIPPED' } }
      expect(await read()).toMatchObject(skipped)
      expect([await backFields(id), await phones.messages(id)]).toEqual([[], []])
    })

    test.each([
      ['an hour forward', 3600],
      ['an hour back', -3600],
    ])('with the clock set %s, each notification is sent exactly once', async (_, jump) => {
      const id = await passOn('apple', 'google')
      const sendAt = new Date(api.now.getTime() + 60_000).toISOString()
      const [now, later] = [await schedule(id, { body: 'now' }), await schedule(id, { body: 'later', sendAt })]
      const jobs = await api.services.store.transaction((tx) =>
        tx.jobs.claim('pushes', api.now, { priority: 'urgent', limit: 10, leaseSeconds: 10 }),
      )
      expect(jobs).toHaveLength(1)
      api.advance(jump)
      await sendNotifications(jobs, api.services)
      await api.runJobs()
      api.advance(7300)
      await api.runJobs()
      expect([await now(), await later()]).toMatchObject([{ status: 'SENT' }, { status: 'SENT' }])
      const bodies = (await phones.messages(id)).map(({ body }) => body)
      expect(bodies.toSorted()).toEqual(['later', 'now'])
    })

    test('replaces the oldest message of a full object', async () => {
      const id = await passOn('google')
      const { api: google } = api.services.google!
      const objectId = phones.objectId(id)
      const old = Array.from({ length: 10 }, (_, n) => ({
        id: `old-${n}`,
        header: 'h',
        body: `${n}`,
        messageType: 'TEXT',
      }))
      await google.setMessages('generic', objectId, old)
      expect(await send(id)).toMatchObject({ status: 'SENT' })
      const bodies = (await phones.messages(id)).map(({ body }) => body)
      expect(bodies).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9', 'Doors open at 7'])
    })
  }
})
