import { request } from 'undici'
import { SIGNATURE_HEADER, sign } from '../../core/rules/crypto/signature.ts'

/** What an application answered; nulls where nothing is forwarded or no answer came. */
export interface Forwarded {
  responseCode: number | null
  durationMs: number | null
  error: string | null
}

export const notForwarded: Forwarded = { responseCode: null, durationMs: null, error: null }

/** As long as a server waits. */
const FORWARD_TIMEOUT_MS = 15_000

/** Sends an event to an application as a server would: the same bytes and headers, signed at this moment. */
export async function forward(rawBody: string, to: string, secret: string): Promise<Forwarded> {
  const startedAt = performance.now()
  const tookMs = () => Math.round(performance.now() - startedAt)
  try {
    const { statusCode, body } = await request(to, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'passes-webhooks',
        [SIGNATURE_HEADER]: sign(rawBody, [secret], new Date()),
      },
      body: rawBody,
      signal: AbortSignal.timeout(FORWARD_TIMEOUT_MS),
    })
    await body.dump()
    return { responseCode: statusCode, durationMs: tookMs(), error: null }
  } catch (error) {
    const reason = error instanceof Error ? error.message || ('code' in error ? String(error.code) : error.name) : error
    return { responseCode: null, durationMs: tookMs(), error: String(reason) }
  }
}
