import { H3Event } from 'h3'
import { expect, test } from 'vitest'
import { addressKey, clientAddress } from '../../../src/server/http/client-address.ts'

test.each([
  ['an IPv4 address stands for itself', '192.0.2.7', '192.0.2.7'],
  ['one that is mapped into IPv6 is the same', '::ffff:192.0.2.7', '192.0.2.7'],
  ['addresses of one /64 are one subscriber', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['however they are written', '2001:0DB8:0001:0002::9', '2001:db8:1:2::/64'],
  ['those of the next /64 are another', '2001:db8:1:3::9', '2001:db8:1:3::/64'],
  ['a zone changes nothing', 'fe80::1%eth0', 'fe80::/64'],
  ['what is no address stands for itself', 'unknown', 'unknown'],
])('%s', (_, address, key) => {
  expect(addressKey(address)).toBe(key)
})

test.each([
  ['without proxies nothing is believed', 0, '198.51.100.9', '10.0.0.1'],
  ['the entry that our proxy wrote is believed', 1, '203.0.113.5, 198.51.100.9', '198.51.100.9'],
  ['one that the client wrote before it is not', 1, '198.51.100.9, 203.0.113.5', '203.0.113.5'],
  ['with two proxies it is the second from the right', 2, '1.1.1.1, 198.51.100.9, 203.0.113.5', '198.51.100.9'],
  ['a port is left out', 1, '198.51.100.9:4711', '198.51.100.9'],
  ['also that of an IPv6 address', 1, '[2001:db8::7]:4711', '2001:db8::7'],
  ['what is no address counts as that of the proxy', 1, 'x'.repeat(5_000), '10.0.0.1'],
  ['fewer entries than proxies count as that of the proxy', 2, '198.51.100.9', '10.0.0.1'],
])('%s', (_, proxies, forwarded, expected) => {
  const request = new Request('http://x/', { headers: { 'x-forwarded-for': forwarded } })
  const event = new H3Event(Object.assign(request, { ip: '10.0.0.1' }))
  expect(clientAddress(event, proxies)).toBe(expected)
})
