import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isOpenToOthers } from '../../../files/private-file.ts'
import { sqliteFile } from '../../../storage/db/database.ts'
import { type Config, sandboxFolder, serverKeyFile } from '../../boot/config.ts'
import { type Check, examine, type Finding, failed, passed, skipped } from './check.ts'

/** Whether others on this machine can read what stands in the files of the server. */
export function checkFiles(config: Config): Promise<Check[]> {
  const database = sqliteFile(config.databaseUrl)
  const key = serverKeyFile(config)
  return examine('Files', [
    {
      name: 'Database',
      fix: 'see that this user may look at the file',
      look: () => judge(database === undefined ? [] : ['', '-wal', '-shm'].map((suffix) => database + suffix)),
    },
    {
      name: 'Server key',
      fix: 'see that this user may look at the file',
      look: () => judge(key === undefined ? [] : [key]),
    },
    {
      name: 'Sandbox',
      fix: 'see that this user may look at the folder',
      look: () => judge(below(sandboxFolder(config))),
    },
  ])
}

function judge(paths: string[]): Finding {
  const found = paths.filter((path) => existsSync(path))
  if (found.length === 0) return skipped('there is no such file')
  const open = found.filter(isOpenToOthers)
  if (open.length === 0) return passed('nobody else can read it')
  const names = open.map(quoted).join(' ')
  return failed(`Other users of this machine may read ${open.join(', ')}.`, `chmod go= ${names}`)
}

function below(folder: string): string[] {
  if (!existsSync(folder)) return []
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

/** As a shell takes it. */
function quoted(path: string): string {
  return /^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}
