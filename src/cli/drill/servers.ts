import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { openPrivateSync } from '../../files/private-file.ts'
import { CliError } from '../command/errors.ts'
import { endOwnPrograms, type OwnServer, runOwnProgram, startOwnServer } from '../command/own-program.ts'

/** An address that stays while servers behind it come and go, as a proxy or a name of a host does. */
export interface Address {
  /** Without a slash at the end. */
  url: string
  /** From now on connections go there. */
  lead(to: string): void
  /** Nobody answers any more. */
  close(): Promise<void>
}

/** Opens an address on a free port, behind which nothing is yet. */
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

/** How a server of the drill is started. */
export interface ServerSettings {
  /** As --database takes it; relative files are those of the folder. */
  database: string
  serverKey: string
  previousServerKeys?: string
  publicUrl?: string
  isFrozen?: boolean
}

/** The program, run in the folder of the drill. */
export interface Programs {
  serve(settings: ServerSettings): Promise<OwnServer>
  /** An operator's command on the database of a server. */
  operate<T>(args: string[], settings: ServerSettings, secrets?: Record<string, string>): Promise<T>
  /** A client's command. */
  call<T>(args: string[], server: { url: string; token: string }): Promise<T>
  /** Ends whatever runs. */
  end(): Promise<void>
}

/** Where the path of the provider before is answered, too. */
export const OLD_PREFIX = '/passkit'

const FLAGS = ['--rate-limit', '0', '--log-level', 'warn', '--platforms', 'apple', '--apple-prefix', OLD_PREFIX]

/**
 * Programs that share one sandbox in the folder, and log to one file there.
 * @param onCommand told of each command that runs, without its flags
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
