import { ApiError, createClient } from 'wallet-passes-server/client'
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
    if (error instanceof ApiError) return error.correlationId
    throw error
  }
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
