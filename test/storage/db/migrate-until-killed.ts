/** Migrates the database of argv[2], and dies as by SIGKILL when it is about to run the statement that holds argv[3]. */
import { openDatabase } from '../../../src/storage/db/database.ts'
import { migrate } from '../../../src/storage/db/migrate.ts'

const [url, fatal] = process.argv.slice(2) as [string, string]
const database = openDatabase(url)
database.writer.on('query', ({ sql }: { sql: string }) => {
  if (sql.includes(fatal)) process.kill(process.pid, 'SIGKILL')
})
await migrate(database)
