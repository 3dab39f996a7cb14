import { SetupError } from '../core/errors.ts'

export class ListenError extends SetupError {
  override readonly name = 'ListenError'

  constructor({ host, port }: { host: string; port: number }, cause: unknown, flags: string) {
    const { code } = cause as NodeJS.ErrnoException
    const why = (code !== undefined && reasons[code]) || (code ?? String(cause))
    super(`Cannot listen on ${host}:${port}: ${why}. Choose another address with ${flags}.`, { cause })
  }
}

const reasons: Partial<Record<string, string>> = {
  EADDRINUSE: 'it is in use',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'the host is unknown',
  EACCES: 'this user has no permission to listen there',
}
