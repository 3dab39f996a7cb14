import { H3Event } from 'h3'
import { expect, test } from 'vitest'
import { addressKey, clientAddress } from '../../../src/server/http/client-address.ts'

test.each([
  ['an IPv4 address is its own key', '192.0.2.7', '192.0.2.7'],
  ['an IPv4 address mapped into IPv6 has the same key', '::ffff:192.0.2.7', '192.0.2.7'],
  ['addresses of one /64 share a key', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['another spelling of an address has the same key', '2001:0DB8:0001:0002::9', '2001:db8:1:2::/64'],
  ['addresses of the next /64 have another key', '2001:db8:1:3::9', '2001:db8:1:3::/64'],
  ['ignores the zone of an address', 'fe80::1%eth0', 'fe80::/64'],
  ['text that is not an address is its own key', 'unknown', 'unknown'],
])('%s', (_, address, key) => {
  expect(addressKey(address)).toBe(key)
})

test.each([
  ['without proxies, ignores the header', 0, '198.51.100.9', '10.0.0.1'],
  ['with a proxy, uses the entry of the proxy', 1, '203.0.113.5, 198.51.100.9', '198.51.100.9'],
  ['with a proxy, ignores entries of the client', 1, '198.51.100.9, 203.0.113.5', '203.0.113.5'],
  ['with two proxies, uses the second entry from the right', 2, '1.1.1.1, 198.51.100.9, 203.0.113.5', '198.51.100.9'],
  ['ignores the port of an entry', 1, '198.51.100.9:4711', '198.51.100.9'],
  ['ignores the port of an IPv6 entry', 1, '[2001:db8::7]:4711', '2001:db8::7'],
  ['an invalid entry counts as the address of the proxy', 1, 'x'.repeat(5_000), '10.0.0.1'],
  ['with fewer entries than proxies, uses the address of the proxy', 2, '198.51.100.9', '10.0.0.1'],
])('%s', (_, proxies, forwarded, expected) => {
  const request = new Request('http://x/', { headers: { 'x-forwarded-for': forwarded } })
  const event = new H3Event(Object.assign(request, { ip: '10.0.0.1' }))
  expect(clientAddress(event, proxies)).toBe(expected)
})
