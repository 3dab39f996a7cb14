import { once } from 'node:events'
import { chmodSync, chownSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from './databases.ts'
import { eventually } from './eventually.ts'
import { onServer } from './migrated.ts'
import { freePort } from './ports.ts'

/** The programs of the newest installed Debian package of PostgreSQL; the embedded one has no pg_dump. */
const programs = newestPrograms()

/** Whether the Debian package is missing. Tests that need it are skipped then. */
export const lacksDebianPostgres = programs === undefined

/** Starts the server of the package until the end of the test, with its superuser `postgres` and no passwords. */
export async function startDebianPostgres(): Promise<{ url: string; programs: string }> {
  const folder = temporaryFolder()
  const port = await freePort()
  const data = join(folder, 'data')
  chmodSync(folder, 0o755)
  // Run PostgreSQL as its own user, because it does not run as root.
  const uid = process.getuid?.() === 0 ? Number((await execa('id', ['-u', 'postgres'])).stdout) : undefined
  if (uid !== undefined) chownSync(folder, uid, 0)
  const asUser = { cwd: folder, ...(uid !== undefined && { uid }) }
  const initialize = ['-D', data, '-U', 'postgres', '--auth=trust', '--no-sync', '--encoding=UTF8', '--locale=C']
  await execa(join(programs!, 'initdb'), initialize, asUser)
  const settings = ['fsync=off', 'unix_socket_directories=', 'autovacuum=off'].flatMap((setting) => ['-c', setting])
  const server = execa(join(programs!, 'postgres'), ['-D', data, '-p', String(port), ...settings], {
    ...asUser,
    reject: false,
    buffer: false,
  })
  onTestFinished(async () => {
    server.kill('SIGINT')
    await server
  })
  const url = `postgres://postgres@127.0.0.1:${port}/`
  await Promise.race([eventually(() => onServer(url, 'select 1')), once(server, 'exit')])
  return { url, programs: programs! }
}

function newestPrograms(): string | undefined {
  const root = '/usr/lib/postgresql'
  try {
    const newest = readdirSync(root).sort((one, other) => Number(other) - Number(one))
    return newest.map((version) => join(root, version, 'bin')).find((bin) => readdirSync(bin).includes('initdb'))
  } catch {
    return undefined
  }
}
