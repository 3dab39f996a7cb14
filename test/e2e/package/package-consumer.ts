import { ApiError, createClient, eachPage, paginate } from 'wallet-passes-server/client'
import { verify, WebhookVerificationError } from 'wallet-passes-server/webhooks'

/** A program of somebody who uses the package; it is compiled, not run. */

const client = createClient({ url: 'https://passes.example.com', token: 'psk_…' })

export async function issue(templateId: string): Promise<string | null> {
  try {
    const body = { templateId, externalPassId: 'order-1', label: 'Ada Lovelace', variables: { seat: 'A-17' } }
    const pass = await client.passes.create({ body })
    const status: 'QUEUED' | 'ISSUING' | 'ISSUED' | 'VOID' | 'FAILED' | 'EXPIRED' = pass.status
    const page = await client.passes.list({ query: { status, variable: 'seat:A-17' } })
    return page.items[0]?.hostedLinks.smart ?? null
  } catch (error) {
    if (error instanceof ApiError && error.errorCode === 'TEMPLATE_NOT_FOUND') return error.correlationId
    throw error
  }
}

export async function* readLists(webhookId: string): AsyncGenerator<string> {
  for await (const pass of paginate(client.passes.list, { status: 'ISSUED' })) yield pass.id
  for await (const { items } of eachPage(client.passes.list, { status: ['ISSUED', 'VOID'], sortDir: 'asc' })) {
    yield items[0]!.externalPassId
  }
  const params = { id: webhookId }
  const ofWebhook = paginate((call) => client.webhooks.listDeliveries({ params, ...call }), { status: ['FAILED'] })
  for await (const { id } of ofWebhook) yield id
  // @ts-expect-error The filter has another name.
  paginate(client.passes.list, { statu: 'ISSUED' })
  // @ts-expect-error No pass has this status.
  eachPage(client.passes.list, { status: 'ISSUE' })
}

// @ts-expect-error A label is needed: were the types lost, nothing would be wrong here.
export const wrong = () => client.passes.create({ body: { templateId: 'x', externalPassId: 'y' } })

export function receive(body: Uint8Array, signature: string): string {
  try {
    return verify(body, signature, 'whsec_…').type
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.hint ?? error.reason
    throw error
  }
}
