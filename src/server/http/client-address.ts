import type { H3Event } from 'h3'
import ipaddr from 'ipaddr.js'

/**
 * Returns the address of the client. Each proxy appends its peer's address to X-Forwarded-For, so only the last
 * `trustedProxies` entries are trusted. Ports are removed. If the entry of the client is not an address, returns the
 * address of the last proxy.
 */
export function clientAddress(event: H3Event, trustedProxies: number): string {
  const socketAddress = event.req.ip ?? 'unknown'
  if (trustedProxies === 0) return socketAddress
  const forwarded = (event.req.headers.get('x-forwarded-for') ?? '').split(',').map((part) => part.trim())
  const address = withoutPort(forwarded.at(-trustedProxies) ?? '')
  return ipaddr.isValid(address) ? address : socketAddress
}

/** Removes the port, which some proxies write: `192.0.2.7:4711` or `[2001:db8::7]:4711`. */
function withoutPort(text: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text
}

/** Returns the network of an address, which usually has one operator: the /24 of IPv4, or the /48 of IPv6. */
export function networkKey(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return ipaddr.IPv4.networkAddressFromCIDR(`${parsed.toString()}/24`).toString()
  return ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/48`).toString()
}

/** Returns the key of a limit by address: the IPv4 address, or the IPv6 /64, which usually has one subscriber. */
export function addressKey(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`)}/64`
}
