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

function usable(given: string | null): string | undefined {
  return given !== null && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : undefined
}
