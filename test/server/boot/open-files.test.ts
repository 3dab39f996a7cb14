import { expect, test } from 'vitest'
import { fitConnections } from '../../../src/server/boot/open-files.ts'
import { createLogger } from '../../../src/server/log.ts'

test.each([
  ['1048576', 5_000, 5_000],
  ['unlimited', 5_000, 5_000],
  ['4096', 5_000, 3_896],
  ['4096', 500, 500],
  ['128', 5_000, 10],
])('with a limit of %s open files, %i connections become %i, with a warning if they are fewer', (limit, asked, fit) => {
  const lines: string[] = []
  const log = createLogger('info', { write: (line: string) => void lines.push(line) })
  const limits = `Max processes             95854                95854                processes
Max open files            ${limit.padEnd(20)} 1048576              files
Max locked memory         8388608              8388608              bytes
`
  expect(fitConnections(asked, log, limits)).toBe(fit)
  expect(lines.map((line) => JSON.parse(line).maxConnections)).toEqual(fit < asked ? [fit] : [])
})
