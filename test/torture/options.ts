import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import { dialects, type TestDialect } from '../support/databases.ts'

export const HELP = `npm run torture -- [flags]

Attacks the built program with load, kills, and faults, and reports for each promise whether it held.

  --minutes N        repeat the scenes for N minutes on each database (default: run each once)
  --database NAME    sqlite, postgres, or both in parallel (default both)
  --seed TEXT        repeat the random choices of an earlier run
  --only SCENE       run only this scene (repeatable)
  --json             print the table as JSON
  --out FILE.md      also write the table as Markdown

PASSES_TEST_POSTGRES_URL names a PostgreSQL server to use instead of a new one. It is not restarted, which leaves out
that part of promise 10. Ctrl-C stops the run and prints the results so far.
`

export interface TortureOptions {
  isHelp: boolean
  minutes: number
  dialects: readonly TestDialect[]
  seed: string
  only: string[]
  isJson: boolean
  out: string | undefined
}

/** @throws Error if a flag is invalid */
export function readOptions(args: string[], scenes: string[]): TortureOptions {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: 'string' },
      database: { type: 'string' },
      seed: { type: 'string' },
      only: { type: 'string', multiple: true },
      json: { type: 'boolean' },
      out: { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  const { minutes = '0', database = 'both', only = [] } = values
  const chosen = dialects.filter((dialect) => database === 'both' || database === dialect)
  if (chosen.length === 0) throw new Error(`--database must be sqlite, postgres, or both, not "${database}"`)
  if (!/^\d+(\.\d+)?$/.test(minutes)) throw new Error(`--minutes must be a number, not "${minutes}"`)
  const unknown = only.find((name) => !scenes.includes(name))
  if (unknown !== undefined) throw new Error(`--only must be a scene, not "${unknown}": ${scenes.join(', ')}`)
  return {
    isHelp: values.help ?? false,
    minutes: Number(minutes),
    dialects: chosen,
    only,
    seed: values.seed ?? randomBytes(4).toString('hex'),
    isJson: values.json ?? false,
    out: values.out,
  }
}
