import { hash } from 'node:crypto'
import { validationError } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import type { ServerKeys } from '../../core/rules/crypto/server-key.ts'
import { openValue, sealValue } from './sealed-values.ts'
import type { CommandLine } from './sign-in.ts'

/** The lifetime of the code of a sign-in. */
const CODE_MS = 60_000

interface Code {
  token: string
  challenge: string
  madeAt: number
}

/**
 * Reads the parameters of a sign-in of the command line; undefined if there are none.
 * @throws ApiError VALIDATION_ERROR if a parameter is malformed
 */
export function readCommandLine(query: URLSearchParams): CommandLine | undefined {
  const port = query.get('port')
  if (port === null) return undefined
  const [state, challenge] = [query.get('state') ?? '', query.get('challenge') ?? '']
  const isPort = /^\d{4,5}$/.test(port) && Number(port) >= 1024 && Number(port) <= 65_535
  if (isPort && /^[\w-]{43}$/.test(state) && /^[\w-]{43}$/.test(challenge))
    return { port: Number(port), state, challenge }
  throw validationError([{ path: ['port'], message: 'Does not belong to a sign-in of "passes login --sso"' }])
}

/**
 * Returns the loopback address of the waiting command line, with a code in the query. The command line exchanges the
 * code for a session token.
 */
export function commandLineUrl(
  { port, state, challenge }: CommandLine,
  token: string,
  keys: ServerKeys,
  at: Date,
): string {
  const content: Code = { token, challenge, madeAt: at.getTime() }
  const code = sealValue(content, 'command-line', keys)
  return `http://127.0.0.1:${port}/?${new URLSearchParams({ code, state })}`
}

/** Exchanges a code for a session token. @throws ApiError VALIDATION_ERROR for an expired code or a wrong verifier */
export function exchangeCode(body: string, keys: ServerKeys, at: Date): string {
  const { code, verifier } = (parseJson(body) ?? {}) as { code?: unknown; verifier?: unknown }
  const opened = openValue<Code>(code, 'command-line', keys)
  const isFresh = opened !== undefined && at.getTime() - opened.madeAt <= CODE_MS
  const isOwn = typeof verifier === 'string' && hash('sha256', verifier, 'base64url') === opened?.challenge
  if (isFresh && isOwn) return opened.token
  throw validationError([{ path: ['code'], message: 'Is invalid or has expired. Sign in again' }])
}

/** The state of a sign-in on another device. The command line keeps this state, sealed. */
interface DeviceHandle {
  deviceCode: string
  workspace?: string | undefined
}

/**
 * Returns the sign-in that the command line sends back.
 * @throws ApiError VALIDATION_ERROR if this server did not seal it
 */
export function openDevice(body: string, keys: ServerKeys): DeviceHandle {
  const { handle } = (parseJson(body) ?? {}) as { handle?: unknown }
  const opened = openValue<DeviceHandle>(handle, 'device', keys)
  if (opened) return opened
  throw validationError([{ path: ['handle'], message: 'Was not issued by this server: start the sign-in again' }])
}
