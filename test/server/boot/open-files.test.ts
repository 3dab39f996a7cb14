import { expect, test } from 'vitest'
import { fitConnections, requireOpenFiles } from '../../../src/server/boot/open-files.ts'
import { createLogger } from '../../../src/server/log.ts'

const limitsOf = (openFiles: string) => `Max processes             95854                95854                processes
Max open files            ${openFiles.padEnd(20)} 1048576              files
Max locked memory         8388608              8388608              bytes
`

test.each([
  ['1048576', 5_000, 5_000],
  ['unlimited', 5_000, 5_000],
  ['4096', 5_000, 3_896],
  ['4096', 500, 500],
  ['256', 5_000, 56],
])('with a limit of %s open files, %i connections become %i, with a warning if they are fewer', (limit, asked, fit) => {
  const lines: string[] = []
  const log = createLogger('info', { write: (line: string) => void lines.push(line) })
  expect(fitConnections(asked, log, limitsOf(limit))).toBe(fit)
  expect(lines.map((line) => JSON.parse(line).maxConnections)).toEqual(fit < asked ? [fit] : [])
})

test('the start requires 256 open files, and the error shows the limit', () => {
  for (const limit of ['unlimited', '1024', '256']) requireOpenFiles(limitsOf(limit))
  expect(() => requireOpenFiles(limitsOf('255'))).toThrow(
    expect.objectContaining({
      message: 'The server needs at least 256 open files, but the limit is 255.',
      fix: expect.stringContaining('ulimit -n'),
    }),
  )
})
