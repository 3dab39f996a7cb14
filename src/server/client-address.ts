import type { H3Event } from 'h3'

/**
 * The address of whoever asks. X-Forwarded-For is believed only as far as configured proxies wrote it: each adds the
 * address that it saw at the right end, so the entry that many places from the right was written by ours.
 */
export function clientAddress(event: H3Event, trustedProxies: number): string {
  const socketAddress = event.req.ip ?? 'unknown'
  if (trustedProxies === 0) return socketAddress
  const forwarded = (event.req.headers.get('x-forwarded-for') ?? '').split(',').map((part) => part.trim())
  return forwarded.at(-trustedProxies) || socketAddress
}
