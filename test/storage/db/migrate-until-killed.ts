/** Migrates the database argv[2], and kills itself with SIGKILL before the statement that contains argv[3]. */
import { openDatabase } from '../../../src/storage/db/database.ts'
import { migrate } from '../../../src/storage/db/migrate.ts'

const [url, fatal] = process.argv.slice(2) as [string, string]
const database = openDatabase(url)
database.writer.on('query', ({ sql }: { sql: string }) => {
  if (sql.includes(fatal)) process.kill(process.pid, 'SIGKILL')
})
await migrate(database)
