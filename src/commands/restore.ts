import { Args, Flags } from '@oclif/core'
import { parsePath } from '../cli/arguments/path.ts'
import { BaseCommand } from '../cli/command/base-command.ts'
import { requireSqliteFile } from '../cli/operator.ts'
import { databaseFlags } from '../cli/settings/server-flags.ts'

export default class Restore extends BaseCommand {
  static override summary = 'Replace a SQLite database with a backup.'
  static override description =
    'Stop the servers first: a database that is open is rejected. The backup is checked by its checksum and page by ' +
    'page, migrated, and put in place in one step; the previous database is kept next to it. Jobs that ran after the ' +
    'backup run again. For PostgreSQL use pg_restore; see docs/backup.md.'
  static override examples = [
    '<%= config.bin %> restore /var/backups/passes-2027-05-31.db',
    '<%= config.bin %> restore passes.backup --database sqlite:./data/passes.db --force',
  ]
  static override args = {
    file: Args.string({ description: 'A file that passes backup wrote.', required: true, parse: parsePath }),
  }
  static override flags = {
    ...databaseFlags,
    force: Flags.boolean({ summary: 'Replace a database that contains data; it is kept.', default: false }),
    unverified: Flags.boolean({ summary: 'Accept a backup of an older version without a checksum.', default: false }),
  }

  async run() {
    const { args, flags } = await this.parse(Restore)
    const { sqliteFile } = await import('../storage/db/database.ts')
    const database = requireSqliteFile(
      flags.database,
      sqliteFile(flags.database),
      `pg_restore --list ${args.file} | grep -v ' EXTENSION ' > passes.list && pg_restore --use-list=passes.list ` +
        `--clean --if-exists --single-transaction --dbname="$PASSES_DATABASE_URL" ${args.file}`,
    )
    const { restore } = await import('../server/operator/backup.ts')
    const restored = await restore(args.file, database, {
      force: flags.force,
      unverified: flags.unverified,
      at: new Date(),
    })
    this.log(`Restored ${restored.database}.`)
    if (!restored.verified) this.note('The backup has no checksum, so its content cannot be verified.')
    if (restored.replaced) this.note(`The previous database is kept as ${restored.replaced}.`)
    this.note(aboutKey[restored.key](`${restored.database}.key`))
    return restored
  }
}

const aboutKey = {
  matches: (file: string) => `The server key ${file} matches the backup.`,
  missing: (file: string) =>
    `The server key ${file} does not exist. Before you start a server, put the key of the backup there (mode ` +
    '0600), or set PASSES_SERVER_KEY. The server does not start without it.',
  differs: (file: string) =>
    `The server key ${file} does NOT match the backup, and a server does not start with it. Put the ` +
    'right one there, or set PASSES_SERVER_KEY.',
  unused: () => 'No server ever started on the database of the backup: any server key works.',
}
