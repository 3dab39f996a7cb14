import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { CleanUp } from './databases.ts'

/** A fixed address whose server can be replaced, like a host name or a proxy. */
export interface Address {
  /** The address without a trailing slash. */
  url: string
  /** Forwards new connections to another server. */
  lead(to: string): void
  /** Stops responding. */
  close(): void
}

/** Opens an address, without a server yet, on a free port by default. */
export async function openAddress(cleanUp: CleanUp, port = 0): Promise<Address> {
  const sockets = new Set<Socket>()
  let target: number | undefined
  const join = (from: Socket, to: Socket) => {
    sockets.add(from)
    from.on('error', () => from.destroy())
    from.once('close', () => sockets.delete(from) && to.destroy())
    from.pipe(to)
  }
  const server = createServer({ noDelay: true }, (from) => {
    if (target === undefined) return void from.destroy()
    const to = connect({ port: target, host: '127.0.0.1', noDelay: true })
    join(from, to)
    join(to, from)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  cleanUp(close)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lead(to) {
      target = Number(new URL(to).port)
    },
    close,
  }
}
