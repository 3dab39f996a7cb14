import { Args, Flags } from '@oclif/core'
import { parsePath } from '../cli/arguments/path.ts'
import { BaseCommand } from '../cli/command/base-command.ts'
import { count } from '../cli/command/output.ts'
import { startProgress } from '../cli/command/progress.ts'
import { requireSqliteFile } from '../cli/operator.ts'
import { databaseFlags } from '../cli/settings/server-flags.ts'

const MEGABYTE = 1_000_000

export default class Backup extends BaseCommand {
  static override summary = 'Copy a SQLite database to a file while servers use it.'
  static override description =
    'The copy is consistent and contains everything acknowledged before it started; requests do not wait for it. It ' +
    'is checked before the file gets its name. It does not contain the server key: keep a copy elsewhere, because ' +
    'webhook secrets and links cannot be used without it. For PostgreSQL use pg_dump; see docs/backup.md.'
  static override examples = [
    '<%= config.bin %> backup /var/backups/passes-2027-05-31.db',
    '<%= config.bin %> backup passes.backup --database sqlite:./data/passes.db --force',
  ]
  static override args = { file: Args.string({ description: 'The file to write.', required: true, parse: parsePath }) }
  static override flags = {
    ...databaseFlags,
    force: Flags.boolean({ summary: 'Replace an existing file.', default: false }),
  }

  async run() {
    const { args, flags } = await this.parse(Backup)
    const { sqliteFile } = await import('../storage/db/database.ts')
    const database = requireSqliteFile(
      flags.database,
      sqliteFile(flags.database),
      `pg_dump --format=custom --file=${args.file} "$PASSES_DATABASE_URL"`,
    )
    const { backUp } = await import('../server/operator/backup.ts')
    const { serverKeyFile } = await import('../server/config.ts')
    const made = await this.#withProgress((onProgress) =>
      backUp(database, args.file, { force: flags.force, onProgress }),
    )
    const key = serverKeyFile({ databaseUrl: flags.database })!
    this.log(`Wrote ${made.file} (${count(Math.ceil(made.bytes / MEGABYTE))} MB).`)
    this.note(
      'The server key is not in it. Without it, the webhook secrets of the copy cannot be opened and its links ' +
        `are invalid. Store it once in another place, since it does not change.\n\n  cp ${key} …\n\nA key from ` +
        'PASSES_SERVER_KEY is stored where that variable comes from. The folder of the sandbox is omitted.',
    )
    return { ...made, serverKeyFile: key }
  }

  async #withProgress<T>(work: (onProgress: (bytes: number, total: number) => void) => Promise<T>): Promise<T> {
    const start = { done: 0, rows: 0, failed: 0 }
    const progress = await startProgress({ total: 100, start, unit: 'MB' })
    try {
      return await work((bytes, total) =>
        progress.update({ done: (bytes / total) * 100, rows: Math.round(bytes / MEGABYTE), failed: 0 }),
      )
    } finally {
      progress[Symbol.dispose]()
    }
  }
}
