import { BaseCommand } from '../cli/command/base-command.ts'
import { databaseFlags } from '../cli/settings/server-flags.ts'

export default class Migrate extends BaseCommand {
  static override summary = 'Migrate the database.'
  static override description =
    'passes serve does the same when it starts. Safe to run at any time, even twice at once.'
  static override examples = [
    '<%= config.bin %> migrate',
    '<%= config.bin %> migrate --database postgres://passes:secret@db/passes',
  ]
  static override flags = databaseFlags

  async run() {
    const { flags } = await this.parse(Migrate)
    const { openDatabase } = await import('../storage/db/database.ts')
    const { onDatabase } = await import('../server/boot/database-error.ts')
    const { migrate } = await import('../storage/db/migrate.ts')
    const database = openDatabase(flags.database)
    try {
      const applied = await onDatabase(flags.database, () => migrate(database))
      this.log(applied.length > 0 ? `Applied ${applied.join(', ')}.` : 'The database is up to date.')
      return { applied }
    } finally {
      await database.close()
    }
  }
}
