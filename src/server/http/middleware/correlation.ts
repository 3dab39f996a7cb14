import { randomUUID } from 'node:crypto'
import type { H3Event } from 'h3'

/**
 * The caller's correlation id where it is a usable one, else a fresh one; the same for as long as the request lives. It
 * follows the request into whatever it causes.
 */
export function correlationIdOf(event: H3Event): string {
  const context = event.context as { correlationId?: string }
  context.correlationId ??= usable(event.req.headers.get('x-correlation-id')) ?? randomUUID()
  return context.correlationId
}

/** An access token in the wrong header: it would be logged, stored, and sent to webhooks. */
const TOKEN = /psk_[0-9A-Za-z]{38}/

function usable(given: string | null): string | undefined {
  const isUsable = given !== null && /^[A-Za-z0-9._-]{1,128}$/.test(given) && !TOKEN.test(given)
  return isUsable ? given : undefined
}
