import { existsSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { execa } from 'execa'
import { onTestFinished } from 'vitest'
import { overTcp, temporaryFolder } from './databases.ts'
import { eventually } from './eventually.ts'
import { freePort } from './ports.ts'

const program = '/usr/sbin/pgbouncer'

/** Whether the Debian package is missing. Tests that need it are skipped then; CI installs it. */
export const lacksPgbouncer = !existsSync(program)

/** The number of server connections: fewer than a passes server opens, so that the server must share them. */
const POOL_SIZE = 8

/**
 * Starts PgBouncer in front of a database server until the end of the test. Resolves to an address of the database that
 * leads through PgBouncer.
 */
export async function startPgbouncer(databaseUrl: string, poolMode: string, poolSize = POOL_SIZE): Promise<string> {
  const tcpUrl = overTcp(databaseUrl)
  const { hostname, port, username, password } = new URL(tcpUrl)
  const ownPort = await freePort()
  const file = join(temporaryFolder(), 'pgbouncer.ini')
  const settings = [
    '[databases]',
    `* = host=${hostname} port=${port} user=${username} password=${password}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${ownPort}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${poolMode}`,
    `default_pool_size = ${poolSize}`,
    // Give clients different server processes.
    'server_round_robin = 1',
  ]
  writeFileSync(file, `${settings.join('\n')}\n`, { mode: 0o644 })
  // Run PgBouncer as another user, because it does not run as root. It reads the file before it changes the user.
  const asUser = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const child = execa(program, [...asUser, file], { reject: false, buffer: false })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await child
  })
  await eventually(
    () =>
      new Promise<void>((resolve, reject) => {
        const socket = connect(ownPort, '127.0.0.1', () => resolve(void socket.destroy()))
        socket.once('error', reject)
      }),
  )
  return tcpUrl.replace(`:${port}/`, `:${ownPort}/`)
}
