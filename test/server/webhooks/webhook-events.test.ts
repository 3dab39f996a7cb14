import { beforeEach, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { subscribableEvents } from '../../../src/core/events.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { oneDialect } from '../../support/databases.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { issuedPass, publishedTemplate } from '../fixtures.ts'
import { makeWebhook, sendTest } from './webhook-fixtures.ts'

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect, { outbound: { allowInsecure: true } })
  let workspace: TestWorkspace
  let receiver: Receiver

  beforeEach(async () => {
    workspace = await api.workspace()
    receiver = await startReceiver()
  })

  const delivered = async () => {
    await api.runJobs()
    return receiver.received.splice(0).map(({ envelope }) => envelope)
  }

  test('each change of a pass is sent with its new state and the correlation ID of its request', async () => {
    await makeWebhook(workspace, receiver, ...subscribableEvents)
    const pass = await issuedPass(workspace, { variables: { seat: 'A1' } })
    const { id, externalPassId, templateId, templateVersionId, projectId } = pass
    const identifiers = { id, externalPassId, templateId, templateVersionId, projectId }
    const [issued] = await delivered()
    expect(issued).toMatchObject({ type: 'pass.issued' })
    expect(issued!.data).toEqual({
      ...identifiers,
      variables: { seat: 'A1' },
      redemption: null,
      expiresAt: null,
      createdAt: pass.createdAt,
    })

    const headers = { 'x-correlation-id': 'request-7' }
    const params = { id }
    await workspace.call(contract.passes.update, { params, body: { variables: { seat: 'B2' } } }, headers)
    const [updated] = await delivered()
    expect(updated).toMatchObject({ type: 'pass.updated', correlationId: 'request-7' })
    expect(updated!.timestamp).toBe(api.now.toISOString())
    expect(updated!.data).toEqual({ ...identifiers, changedFields: ['variables', 'redemption', 'expiresAt'] })

    await workspace.ok(contract.passes.void, { params, body: { reason: 'lost' } })
    const [voided] = await delivered()
    expect(voided).toMatchObject({ type: 'pass.voided', data: { id, externalPassId, reason: 'lost' } })
  })

  test('the test event names the endpoint and nothing else', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    await sendTest(workspace, webhook.id)
    const [envelope] = await delivered()
    expect(envelope).toMatchObject({ type: 'webhook.test', data: { webhookId: webhook.id } })
    expect(Object.keys(envelope!.data)).toEqual(['webhookId'])
    expect(Object.keys(envelope!)).toEqual(['id', 'type', 'timestamp', 'correlationId', 'data'])
  })

  test('an endpoint gets the events that it subscribed to, and only its own tests', async () => {
    const other = await startReceiver()
    const webhook = await makeWebhook(workspace, receiver, 'pass.issued')
    await makeWebhook(workspace, other, 'pass.issued', 'pass.voided')
    const { id } = await issuedPass(workspace)
    await workspace.ok(contract.passes.void, { params: { id } })
    await sendTest(workspace, webhook.id)
    expect((await delivered()).map(({ type }) => type).sort()).toEqual(['pass.issued', 'webhook.test'])
    expect(other.received.map(({ envelope }) => envelope.type).sort()).toEqual(['pass.issued', 'pass.voided'])
  })

  const rowsOf = async (table: string) => {
    const [row] = await api.database.reader(table).where({ workspace_id: workspace.id }).count({ n: '*' })
    return Number(row!.n)
  }

  test('a change writes as many rows for one endpoint as for twenty', async () => {
    const written = async () => {
      await api.runJobs()
      const count = async () => [
        await rowsOf('jobs'),
        (await rowsOf('webhook_deliveries')) + (await rowsOf('pending_events')),
      ]
      const before = await count()
      const { id } = await workspace.ok(contract.passes.create, {
        body: { externalPassId: crypto.randomUUID(), label: 'Ada', templateId },
      })
      await workspace.ok(contract.passes.void, { params: { id } })
      return (await count()).map((n, i) => n - before[i]!)
    }
    const { id: templateId } = await publishedTemplate(workspace)
    await makeWebhook(workspace, receiver)
    const one = await written()
    for (let n = 0; n < 19; n += 1) await makeWebhook(workspace, receiver)
    expect(await written()).toEqual(one)
    expect(one[1]).toBe(1)
    await delivered()
    expect(await rowsOf('webhook_deliveries')).toBe(21)
  })

  test('an event goes to the endpoints subscribed when it happened, even if fanned out later', async () => {
    const others = [await startReceiver(), await startReceiver(), await startReceiver()]
    const [reenabled, widened, made] = others as [Receiver, Receiver, Receiver]
    await makeWebhook(workspace, receiver, 'pass.issued', 'pass.voided')
    const paused = await makeWebhook(workspace, reenabled)
    const { id: wide } = await makeWebhook(workspace, widened, 'pass.issued')
    const passes = [await issuedPass(workspace), await issuedPass(workspace)]
    await api.runJobs()
    for (const { received } of [receiver, ...others]) received.splice(0)

    await workspace.ok(contract.passes.void, { params: { id: passes[0]!.id } })
    await workspace.ok(contract.webhooks.disable, { params: { id: paused.id } })
    await workspace.ok(contract.webhooks.enable, { params: { id: paused.id } })
    const body = { events: ['pass.issued' as const, 'pass.voided' as const] }
    await workspace.ok(contract.webhooks.update, { params: { id: wide }, body })
    await makeWebhook(workspace, made)
    expect((await delivered()).map(({ data }) => data.id)).toEqual([passes[0]!.id])
    expect(others.map(({ received }) => received.length)).toEqual([0, 0, 0])

    await workspace.ok(contract.passes.void, { params: { id: passes[1]!.id } })
    await api.runJobs()
    expect(others.map(({ received }) => received.map(({ envelope }) => envelope.data.id))).toEqual(
      others.map(() => [passes[1]!.id]),
    )
  })

  test('processes a long backlog of events in several transactions, each event once', async () => {
    await makeWebhook(workspace, receiver, 'pass.voided')
    const data = { id: crypto.randomUUID(), externalPassId: 'x', reason: null }
    const event = { type: 'pass.voided' as const, subject: data.id, data, correlationId: null }
    const { store } = api.services
    await store.transaction((tx) => tx.events.insert(workspace.id, Array(600).fill(event), api.now))
    const some = await store.transaction((tx) => tx.events.fanOut(workspace.id, api.now, 250))
    expect([some, await rowsOf('webhook_deliveries')]).toEqual([true, 250])
    await Promise.all([1, 2, 3, 4].map(() => store.transaction((tx) => tx.events.fanOut(workspace.id, api.now, 250))))
    expect([await rowsOf('webhook_deliveries'), await rowsOf('pending_events')]).toEqual([600, 0])
  })

  test('an event for many endpoints is fanned out in chunks, once for each', async () => {
    for (let n = 0; n < 5; n += 1) await makeWebhook(workspace, receiver, 'pass.voided')
    const { store } = api.services
    const data = { id: crypto.randomUUID(), externalPassId: 'x', reason: null }
    const event = { type: 'pass.voided' as const, subject: data.id, data, correlationId: null }
    await store.transaction((tx) => tx.events.insert(workspace.id, [event, event], api.now))
    const made: number[] = []
    for (let isMore = true; isMore; made.push(await rowsOf('webhook_deliveries')))
      isMore = await store.transaction((tx) => tx.events.fanOut(workspace.id, api.now, 2))
    expect(made).toEqual([2, 4, 5, 7, 9, 10, 10])
    const deliveries = api.database.writer('webhook_deliveries').where({ workspace_id: workspace.id })
    expect(await deliveries.distinct('webhook_id', 'event_id')).toHaveLength(10)
  })

  test('two endpoints get the same event under separate IDs', async () => {
    const other = await startReceiver()
    await makeWebhook(workspace, receiver, 'pass.issued')
    await makeWebhook(workspace, other, 'pass.issued')
    await issuedPass(workspace)
    const [one] = await delivered()
    const [two] = other.received.map(({ envelope }) => envelope)
    expect(one!.data).toEqual(two!.data)
    expect(one!.id).not.toBe(two!.id)
  })

  test('events of other workspaces are not sent', async () => {
    await makeWebhook(workspace, receiver, ...subscribableEvents)
    await issuedPass(await api.workspace())
    expect(await delivered()).toEqual([])
  })

  test('events from before an endpoint was created are not sent to it', async () => {
    const template = await publishedTemplate(workspace)
    const body = { externalPassId: 'early', label: 'Ada', templateId: template.id }
    await workspace.ok(contract.passes.create, { body })
    await api.runJobs()
    await makeWebhook(workspace, receiver, 'pass.issued')
    expect(await delivered()).toEqual([])
  })

  test('sends and signs non-ASCII names unchanged', async () => {
    await makeWebhook(workspace, receiver, 'pass.issued')
    const variables = { seat: 'Ünïcödé', note: '\u2028 "quoted" \\ 漢字 😀' }
    await issuedPass(workspace, { variables })
    expect((await delivered())[0]!.data.variables).toEqual(variables)
  })

  test('a dry run and a rejected request send nothing', async () => {
    const { id } = await issuedPass(workspace)
    await makeWebhook(workspace, receiver, ...subscribableEvents)
    const params = { id }
    await workspace.ok(contract.passes.update, { params, query: { dryRun: true }, body: { label: 'New' } })
    await workspace.refused(contract.passes.update, { params, body: { templateVersion: 99 } })
    expect(await delivered()).toEqual([])
  })
})
