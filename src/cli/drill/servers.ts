import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { openPrivateSync } from '../../files/private-file.ts'
import { CliError } from '../command/errors.ts'
import { endOwnPrograms, type OwnServer, runOwnProgram, startOwnServer } from '../command/own-program.ts'

/** A fixed address whose server can be replaced, like a proxy or a host name. */
export interface Address {
  /** Without a trailing slash. */
  url: string
  /** Forwards new connections to another server. */
  lead(to: string): void
  /** Stops responding. */
  close(): Promise<void>
}

/** Opens an address on a free port, without a server yet. */
export async function openAddress(): Promise<Address> {
  const sockets = new Set<Socket>()
  let port: number | undefined
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  }
  const server = createServer({ noDelay: true }, (from) => {
    keep(from)
    from.on('error', () => from.destroy())
    if (port === undefined) return from.destroy()
    const to = connect({ port, host: '127.0.0.1', noDelay: true })
    keep(to)
    to.on('error', () => from.destroy())
    to.once('close', () => from.destroy())
    from.once('close', () => to.destroy())
    return void from.pipe(to).pipe(from)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lead(to) {
      port = Number(new URL(to).port)
    },
    async close() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

export interface ServerSettings {
  /** The value of `--database`; relative files are in the folder. */
  database: string
  serverKey: string
  previousServerKeys?: string
  publicUrl?: string
  isFrozen?: boolean
}

/** Runs the program in the folder of the drill. */
export interface Programs {
  serve(settings: ServerSettings): Promise<OwnServer>
  /** Runs an operator command on the database of a server. */
  operate<T>(args: string[], settings: ServerSettings, secrets?: Record<string, string>): Promise<T>
  /** Runs a client command. */
  call<T>(args: string[], server: { url: string; token: string }): Promise<T>
  /** Ends all running processes. */
  end(): Promise<void>
}

/** The path prefix of the previous provider, which the server also accepts. */
export const OLD_PREFIX = '/passkit'

const FLAGS = ['--rate-limit', '0', '--log-level', 'warn', '--platforms', 'apple', '--apple-prefix', OLD_PREFIX]

/**
 * Creates programs that share one sandbox and one log file in the folder.
 * @param onCommand called with each command, without its flags
 */
export function openPrograms(folder: string, onCommand: (command: string) => void): Programs {
  const log = openPrivateSync(join(folder, 'programs.log'), 'a')
  const program = { cwd: folder, log }
  let isEnded = false
  const environment = ({ database, serverKey, previousServerKeys }: ServerSettings) => ({
    PASSES_DATABASE_URL: database,
    PASSES_SERVER_KEY: serverKey,
    PASSES_SANDBOX_DIR: join(folder, 'sandbox'),
    ...(previousServerKeys !== undefined && { PASSES_PREVIOUS_SERVER_KEYS: previousServerKeys }),
  })
  function run<T>(args: string[], settings: Record<string, string>): Promise<T> {
    const flags = args.findIndex((arg) => arg.startsWith('--'))
    onCommand(['passes', ...args.slice(0, flags < 0 ? undefined : flags)].join(' '))
    return runOwnProgram(args, { ...program, settings })
  }
  return {
    async serve(settings) {
      if (isEnded) throw new CliError('The drill has ended.')
      const { publicUrl, isFrozen } = settings
      const args = [...FLAGS, ...(publicUrl ? ['--public-url', publicUrl] : []), ...(isFrozen ? ['--freeze'] : [])]
      return startOwnServer(args, { ...program, settings: { ...environment(settings), PASSES_DRAIN_SECONDS: '1' } })
    },
    operate: (args, settings, secrets) => run(args, { ...environment(settings), ...secrets }),
    call: (args, { url, token }) => run(args, { PASSES_URL: url, PASSES_TOKEN: token }),
    async end() {
      isEnded = true
      await endOwnPrograms()
    },
  }
}
