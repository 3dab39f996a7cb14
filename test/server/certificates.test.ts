import { Writable } from 'node:stream'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { type Certificate, warnOfExpiry } from '../../src/server/certificates.ts'

const notAfter = new Date('2026-12-31T00:00:00Z')
const certificate: Certificate = { id: 'apple_pass', name: 'Apple pass certificate', notAfter }

test.each([
  [31, []],
  [30, []],
  [29, [['warn', 29]]],
  [7, [['warn', 7]]],
  [6, [['error', 6]]],
  [0, [['error', 0]]],
  [-1, [['error', -1]]],
])('warns of a certificate %d days before its end as documented', (days, expected) => {
  const lines: { level: number; daysLeft: number }[] = []
  const stream = new Writable({
    write(chunk, _, done) {
      lines.push(JSON.parse(String(chunk)))
      done()
    },
  })
  warnOfExpiry([certificate], new Date(notAfter.getTime() - days * 86_400_000), pino(stream))
  expect(lines.map(({ level, daysLeft }) => [pino.levels.labels[level], daysLeft])).toEqual(expected)
})
