import { describe, expect, test } from 'vitest'
import { createLogger } from '../../src/server/log.ts'

function logged(error: Error): Record<string, unknown> {
  const lines: string[] = []
  createLogger('warn', { write: (line: string) => void lines.push(line) }).error({ err: error }, 'request failed')
  return JSON.parse(lines.join('')).err
}

test('an error of an unavailable database is logged without its statement and stack', () => {
  const error = Object.assign(new Error('select "a" from "b" - connect ECONNREFUSED 127.0.0.1:5432'), {
    code: 'ECONNREFUSED',
  })
  expect(logged(error)).toEqual({
    reason: 'unreachable',
    code: 'ECONNREFUSED',
    message: 'connect ECONNREFUSED 127.0.0.1:5432',
  })
})

describe('failures that repeat', () => {
  const unreachable = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })

  function open() {
    const lines: Record<string, unknown>[] = []
    const clock = { now: 0 }
    const log = createLogger('info', { write: (line: string) => void lines.push(JSON.parse(line)) }, () => clock.now)
    return { lines, clock, log }
  }

  test('an outage is logged once a minute for each kind of work, with the number of lines left out', () => {
    const { lines, clock, log } = open()
    const fail = () => {
      for (let n = 0; n < 500; n += 1) log.error({ err: unreachable(), correlationId: `c-${n}` }, 'request failed')
      log.error({ err: unreachable() }, 'the worker could not reach the outbox')
    }
    fail()
    expect(lines).toMatchObject([
      { msg: 'request failed', correlationId: 'c-0' },
      { msg: 'the worker could not reach the outbox', err: { reason: 'unreachable' } },
    ])
    clock.now = 60
    fail()
    expect(lines.slice(2)).toMatchObject([
      { level: 40, leftOut: 499, failures: 2 },
      { msg: 'request failed' },
      { msg: 'the worker could not reach the outbox' },
    ])
  })

  test('another cause of an outage is logged at once', () => {
    const { lines, log } = open()
    for (const code of ['SQLITE_FULL', 'SQLITE_FULL', 'SQLITE_READONLY']) {
      log.error({ err: Object.assign(new Error(code), { code }) }, 'the worker could not reach the outbox')
    }
    expect(lines.map(({ err }) => (err as { code: string }).code)).toEqual(['SQLITE_FULL', 'SQLITE_READONLY'])
  })

  test('a fault of background work is logged once a minute, one of a request each time', () => {
    const { lines, log } = open()
    for (let n = 0; n < 3; n += 1) {
      log.error({ err: new TypeError('a bug') }, 'the schedule each-second failed')
      log.error({ err: new TypeError('a bug'), correlationId: `c-${n}` }, 'request failed')
    }
    expect(lines.map(({ msg }) => msg)).toEqual(['the schedule each-second failed', ...Array(3).fill('request failed')])
  })
})

test('any other error is logged with its stack', () => {
  expect(logged(new Error('a bug'))).toMatchObject({ message: 'a bug', stack: expect.stringContaining('log.test.ts') })
})
