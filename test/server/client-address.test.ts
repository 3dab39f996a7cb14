import { expect, test } from 'vitest'
import { addressKey } from '../../src/server/client-address.ts'

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
