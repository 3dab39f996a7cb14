import ipaddr from 'ipaddr.js'

/** Public by their range, and yet services of a cloud's own hosts: Azure's wire server. */
const NEVER = new Set(['168.63.129.16'])

/** Global unicast of IPv6; whatever else is called unicast is not given out. */
const GLOBAL_UNICAST = ipaddr.parse('2000::')

/**
 * True for an address of the public internet. Addresses that carry an IPv4 address inside (mapped, NAT64, 6to4, Teredo)
 * are not: behind them may stand any host.
 */
export function isPublicAddress(address: string): boolean {
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast' || NEVER.has(parsed.toString())) return false
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_UNICAST, 3)
}
