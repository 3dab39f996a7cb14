import { beforeEach, describe, expect, test } from 'vitest'
import { contract } from '../../src/core/contract/contract.ts'
import { subscribableEvents } from '../../src/core/events.ts'
import { type TestWorkspace, useApi } from '../support/api.ts'
import { dialects } from '../support/databases.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { issuedPass, publishedTemplate } from './fixtures.ts'
import { makeWebhook, sendTest } from './webhook-fixtures.ts'

describe.each(dialects)('on %s', (dialect) => {
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

  test('each change of a pass is sent with the state that it establishes, under the correlation id of its request', async () => {
    await makeWebhook(workspace, receiver, ...subscribableEvents)
    const pass = await issuedPass(workspace, { variables: { seat: 'A1' } })
    const { id, externalPassId, templateId, templateVersionId, projectId } = pass
    const identifiers = { id, externalPassId, templateId, templateVersionId, projectId }
    const [issued] = await delivered()
    expect(issued).toMatchObject({ type: 'pass.issued' })
    expect(issued!.data).toEqual({
      ...identifiers,
      ...{ variables: { seat: 'A1' }, redemption: null, expiresAt: null, createdAt: pass.createdAt },
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

  test('an endpoint gets what it subscribed to; a test goes to the one that is tested', async () => {
    const other = await startReceiver()
    const webhook = await makeWebhook(workspace, receiver, 'pass.issued')
    await makeWebhook(workspace, other, 'pass.issued', 'pass.voided')
    const { id } = await issuedPass(workspace)
    await workspace.ok(contract.passes.void, { params: { id } })
    await sendTest(workspace, webhook.id)
    expect((await delivered()).map(({ type }) => type).sort()).toEqual(['pass.issued', 'webhook.test'])
    expect(other.received.map(({ envelope }) => envelope.type).sort()).toEqual(['pass.issued', 'pass.voided'])
  })

  test('two endpoints get the same event under ids of their own', async () => {
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

  test('what happens before an endpoint is made is not sent to it', async () => {
    const template = await publishedTemplate(workspace)
    const body = { externalPassId: 'early', label: 'Ada', templateId: template.id }
    await workspace.ok(contract.passes.create, { body })
    await api.runJobs()
    await makeWebhook(workspace, receiver, 'pass.issued')
    expect(await delivered()).toEqual([])
  })

  test('names beyond ASCII are sent and signed as they are', async () => {
    await makeWebhook(workspace, receiver, 'pass.issued')
    const variables = { seat: 'Ünïcödé', note: '\u2028 "quoted" \\ 漢字 😀' }
    await issuedPass(workspace, { variables })
    expect((await delivered())[0]!.data.variables).toEqual(variables)
  })

  test('a dry run and a refused request send nothing', async () => {
    const { id } = await issuedPass(workspace)
    await makeWebhook(workspace, receiver, ...subscribableEvents)
    const params = { id }
    await workspace.ok(contract.passes.update, { params, query: { dryRun: true }, body: { label: 'New' } })
    await workspace.refused(contract.passes.update, { params, body: { templateVersion: 99 } })
    expect(await delivered()).toEqual([])
  })
})
