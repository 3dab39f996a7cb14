import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import { dialects, type TestDialect } from '../support/databases.ts'

export const HELP = `npm run torture -- [flags]

Attacks the built program with load, kills and faults, and says of each promise whether it held.

  --minutes N        run the scenes again and again for so long on each database; each once without
  --database NAME    sqlite, postgres or both (the default; side by side)
  --seed TEXT        repeat the chances of an earlier run
  --only SCENE       repeatable; all by default
  --json             the table as JSON
  --out FILE.md      write the table as Markdown, too

PASSES_TEST_POSTGRES_URL names a PostgreSQL server to use instead of one that is started for the run; it is not
restarted, so that this part of promise 10 is then left out. Ctrl-C prints what was done so far.
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

/** @throws Error that says what is wrong with the flags */
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
  if (chosen.length === 0) throw new Error(`--database takes sqlite, postgres or both, and holds "${database}"`)
  if (!/^\d+(\.\d+)?$/.test(minutes)) throw new Error(`--minutes takes a number, and holds "${minutes}"`)
  const unknown = only.find((name) => !scenes.includes(name))
  if (unknown !== undefined)
    throw new Error(`--only takes a scene, and there is none called "${unknown}": ${scenes.join(', ')}`)
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
