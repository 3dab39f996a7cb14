import { Writable } from 'node:stream'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createSecurityLog } from '../../../src/server/http/security-log.ts'

function open() {
  const lines: Record<string, unknown>[] = []
  const stream = new Writable({
    write(chunk, _, done) {
      lines.push(JSON.parse(String(chunk)))
      done()
    },
  })
  const clock = { now: 0 }
  return { lines, clock, log: createSecurityLog(pino(stream), () => clock.now) }
}

test('at most ten lines of a kind per address are logged in a minute, then the number left out', () => {
  const { lines, clock, log } = open()
  for (let n = 0; n < 1_000; n += 1) log.note('forged link', { address: '192.0.2.7' })
  expect(lines).toHaveLength(10)
  log.note('forged link', { address: '192.0.2.8' })
  expect(lines.at(-1)).toMatchObject({ level: 30, security: 'forged link', address: '192.0.2.8' })
  log.note('permission denied', { address: '192.0.2.7' })
  expect(lines.at(-1)).toMatchObject({ security: 'permission denied', address: '192.0.2.7' })
  clock.now = 60
  log.note('forged link', { address: '192.0.2.7' })
  expect(lines.slice(-2)).toMatchObject([
    { security: 'forged link', leftOut: 990, addresses: 2 },
    { security: 'forged link', address: '192.0.2.7' },
  ])
})

test('at most sixty lines of a kind are logged in a minute, for any number of addresses', () => {
  const { lines, clock, log } = open()
  for (let n = 0; n < 20_000; n += 1) log.note('limited', { address: `192.0.${n >> 8}.${n & 255}` })
  expect(lines).toHaveLength(60)
  clock.now = 61
  log.note('limited', { address: '192.0.2.7' })
  expect(lines.at(-2)).toMatchObject({ leftOut: 19_940, addresses: 10_000 })
})
