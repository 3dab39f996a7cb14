import { SetupError } from '../../core/errors.ts'

/** An address cannot be listened on: says which, why, and what to give instead. */
export class ListenError extends SetupError {
  override readonly name = 'ListenError'

  constructor({ host, port }: { host: string; port: number }, cause: unknown, flags: string) {
    const { code } = cause as NodeJS.ErrnoException
    const why = code === 'EADDRINUSE' ? 'it is in use' : (code ?? String(cause))
    super(`Cannot listen on ${host}:${port}: ${why}. Give another with ${flags}.`, { cause })
  }
}
