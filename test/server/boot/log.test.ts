import { expect, test } from 'vitest'
import { createLogger } from '../../../src/server/boot/log.ts'

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

test('any other error is logged with its stack', () => {
  expect(logged(new Error('a bug'))).toMatchObject({ message: 'a bug', stack: expect.stringContaining('log.test.ts') })
})
