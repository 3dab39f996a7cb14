import { Args, Flags } from '@oclif/core'
import { parsePath } from '../cli/arguments/path.ts'
import { BaseCommand } from '../cli/command/base-command.ts'
import { requireSqliteFile } from '../cli/operator.ts'
import { databaseFlags } from '../cli/settings/server-flags.ts'

export default class Restore extends BaseCommand {
  static override summary = 'Put a backup in the place of a SQLite database.'
  static override description =
    'Stop the servers first: a database that is open is refused. The backup is checked by its checksum and page by page, ' +
    'brought up to date and put in place in one step; the database of before is kept beside it. Work that ran since the backup runs again. For ' +
    'PostgreSQL use pg_restore; docs/backup.md tells both.'
  static override examples = [
    '<%= config.bin %> restore /var/backups/passes-2027-05-31.db',
    '<%= config.bin %> restore passes.backup --database sqlite:./data/passes.db --force',
  ]
  static override args = {
    file: Args.string({ description: 'A file that passes backup wrote.', required: true, parse: parsePath }),
  }
  static override flags = {
    ...databaseFlags,
    force: Flags.boolean({ summary: 'Replace a database that holds data; it is kept.', default: false }),
    unverified: Flags.boolean({
      summary: 'Take a backup without a checksum, as older programs wrote them.',
      default: false,
    }),
  }

  async run() {
    const { args, flags } = await this.parse(Restore)
    const { sqliteFile } = await import('../storage/db/database.ts')
    const database = requireSqliteFile(
      flags.database,
      sqliteFile(flags.database),
      `pg_restore --clean --if-exists --dbname="$PASSES_DATABASE_URL" ${args.file}`,
    )
    const { restore } = await import('../server/operator/backup.ts')
    const restored = await restore(args.file, database, {
      force: flags.force,
      unverified: flags.unverified,
      at: new Date(),
    })
    this.log(`Restored ${restored.database}.`)
    if (!restored.verified) this.note('The backup has no checksum: nobody can tell whether it is what was backed up.')
    if (restored.replaced) this.note(`The database of before is kept as ${restored.replaced}.`)
    this.note(aboutKey[restored.key](`${restored.database}.key`))
    return restored
  }
}

const aboutKey = {
  matches: (file: string) => `The server key ${file} is the one that the backup was made with.`,
  missing: (file: string) =>
    `There is no server key ${file}. Before a server starts, put the key of the backup there (mode 0600), or give it as ` +
    'PASSES_SERVER_KEY: without it the server refuses to start.',
  differs: (file: string) =>
    `The server key ${file} is NOT the one that the backup was made with, and a server refuses to start with it. Put the ` +
    'right one there, or give it as PASSES_SERVER_KEY.',
  unused: () => 'No server ever started on the database of the backup: any server key will do.',
}
