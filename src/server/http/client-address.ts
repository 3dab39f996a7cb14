import type { H3Event } from 'h3'
import ipaddr from 'ipaddr.js'

/**
 * The address of whoever asks. X-Forwarded-For is believed only as far as configured proxies wrote it: each adds the
 * address that it saw at the right end, so the entry that many places from the right was written by ours. Some add the
 * port; what is no address at all counts as that of the proxy.
 */
export function clientAddress(event: H3Event, trustedProxies: number): string {
  const socketAddress = event.req.ip ?? 'unknown'
  if (trustedProxies === 0) return socketAddress
  const forwarded = (event.req.headers.get('x-forwarded-for') ?? '').split(',').map((part) => part.trim())
  const address = withoutPort(forwarded.at(-trustedProxies) ?? '')
  return ipaddr.isValid(address) ? address : socketAddress
}

/** `192.0.2.7:4711` and `[2001:db8::7]:4711`, as some proxies write them, without the port. */
function withoutPort(text: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text
}

/**
 * What a limit by address counts for one: an IPv4 address, and of IPv6 the /64 that one subscriber has to himself.
 * Anything else stands for itself.
 */
export function addressKey(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`)}/64`
}
