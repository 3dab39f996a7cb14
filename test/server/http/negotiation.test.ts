import { expect, test } from 'vitest'
import { acceptsGzip } from '../../../src/server/http/negotiation.ts'

test.each([
  ['gzip', true],
  ['br, GZIP;q=0.5', true],
  ['*', true],
  ['x-gzip', true],
  ['gzip;q=0, *', false],
  ['*;q=0', false],
  ['deflate, br', false],
  ['gzip;q=nonsense', false],
  ['', false],
  [undefined, false],
])('Accept-Encoding: %s receives gzip: %s', (accepted, expected) => {
  const headers = new Headers(accepted === undefined ? {} : { 'accept-encoding': accepted })
  expect(acceptsGzip(headers)).toBe(expected)
})
