import type { H3Event } from 'h3'
import ipaddr from 'ipaddr.js'

/**
 * Returns the address of the client, without a port. Each proxy appends the address of its peer to X-Forwarded-For, so
 * the first of the last `trustedProxies` entries is the client. Clients can forge earlier entries. If the entry is not
 * an address, returns the address of the connection.
 */
export function clientAddress(event: H3Event, trustedProxies: number): string {
  const socketAddress = event.req.ip ?? 'unknown'
  if (trustedProxies === 0) return socketAddress
  const forwarded = (event.req.headers.get('x-forwarded-for') ?? '').split(',').map((part) => part.trim())
  const address = withoutPort(forwarded.at(-trustedProxies) ?? '')
  return ipaddr.isValid(address) ? address : socketAddress
}

/** Removes the port that some proxies append, as in `192.0.2.7:4711` or `[2001:db8::7]:4711`. */
function withoutPort(text: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text
}

/** Returns the network of an address: the IPv4 /24 or IPv6 /48, which usually has one operator. */
export function networkKey(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return ipaddr.IPv4.networkAddressFromCIDR(`${parsed.toString()}/24`).toString()
  return ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/48`).toString()
}

/** Returns the key for limits by address: the IPv4 address, or the IPv6 /64, which usually has one subscriber. */
export function addressKey(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`)}/64`
}
