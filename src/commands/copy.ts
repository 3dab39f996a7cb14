import { Flags } from '@oclif/core'
import { BaseCommand } from '../cli/command/base-command.ts'
import { count, table } from '../cli/command/output.ts'
import { startProgress } from '../cli/command/progress.ts'

export default class Copy extends BaseCommand {
  static override summary = 'Copy a database to another one: from SQLite to PostgreSQL, or back.'
  static override description =
    'Stop the servers first, or start them with --freeze, so that they only read. All rows are copied, read again, ' +
    'and compared before the copy can be used. If it is interrupted, run it again to resume. Passes, links, phones, ' +
    'and tokens do not change; use the same server key for the new server. See docs/guides/growing.md.'
  static override examples = [
    'PASSES_COPY_TO=postgres://passes:secret@db/passes <%= config.bin %> copy --from sqlite:./passes.db',
    'PASSES_COPY_FROM=postgres://passes:secret@db/passes <%= config.bin %> copy --to sqlite:./passes.db',
  ]
  static override flags = {
    from: Flags.string({
      summary: 'Source database: sqlite:FILE or postgres://user:password@host/name.',
      env: 'PASSES_COPY_FROM',
      required: true,
    }),
    to: Flags.string({
      summary: 'Target: an empty PostgreSQL database, or a new SQLite file.',
      env: 'PASSES_COPY_TO',
      required: true,
    }),
  }

  async run() {
    const { flags } = await this.parse(Copy)
    const { copy } = await import('../server/operator/copy-database.ts')
    const { withoutPassword } = await import('../server/boot/database-error.ts')
    const { serverKeyFile } = await import('../server/config.ts')
    const progress = await startProgress({ total: 100, start: { done: 0, rows: 0, failed: 0 } })
    let step: keyof typeof steps | undefined
    const tables = await copy(flags, {
      at: new Date(),
      onProgress: ({ rows, total, ...state }) => {
        if (state.step !== step) progress.note(steps[state.step])
        step = state.step
        progress.update({ done: (rows / total) * 100, rows, failed: 0 })
      },
    }).finally(() => progress[Symbol.dispose]())
    const rows = tables.reduce((sum, one) => sum + one.rows, 0)
    const to = withoutPassword(flags.to)
    this.log(`Copied ${count(rows)} rows to ${to}. The contents are the same.\n`)
    const filled = tables.filter((one) => one.rows > 0)
    this.log(
      table(filled, [
        { title: 'table', value: (one) => one.name },
        { title: 'rows', value: (one) => count(one.rows) },
      ]),
    )
    const key = serverKeyFile({ databaseUrl: flags.from })
    this.note(
      `\nThe new server needs the server key of the old one ` +
        `(PASSES_SERVER_KEY${key ? `: the content of ${key}, if it was not given` : ''}). Do not start a server ` +
        'on the old database again, except with --freeze. Its writes would not reach the new database.',
    )
    return { from: withoutPassword(flags.from), to, rows, tables }
  }
}

const steps = {
  copy: 'Copying rows.',
  check: 'Reading the copy, and comparing it.',
  finish: 'Making the indexes.',
}
