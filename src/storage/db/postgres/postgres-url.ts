import pg from 'pg'
import { SetupError } from '../../../core/errors.ts'
import type { Settings } from './pipeline.ts'

export class DatabaseUrlError extends SetupError {
  override readonly name = 'DatabaseUrlError'
  override readonly isMalformed = true
}

/**
 * A PostgreSQL address in the form that the driver expects, and the values of the `SETTINGS` that were removed from its
 * query string.
 */
interface PostgresAddress {
  connectionString: string
  settings: Settings
}

/**
 * The settings that the query string of a database address can contain. They are sent in a statement, because a pooler
 * rejects them as startup parameters.
 */
const SETTINGS = ['lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout']

const ENCODE =
  'percent-encode special characters of the user and the password: / as %2F, # as %23, ? as %3F, @ as %40, % as %25'

/** @throws DatabaseUrlError if the driver cannot parse the address, or cannot read a certificate file in the address */
export function parsePostgresUrl(url: string): PostgresAddress {
  const [, place = '', query = ''] = /^([^?]*)\??(.*)$/s.exec(url)!
  const params = new URLSearchParams(query)
  // An unencoded / # or ? in a password ends the authority before the @, so that the user would be parsed as the host.
  const [authority = '', ...rest] = place.split('://')[1]!.split(/[/#]/)
  const isCut = !authority.includes('@') && [...rest, ...params.keys()].some((part) => part.includes('@'))
  if (isCut) throw new DatabaseUrlError('The address of the PostgreSQL database cannot be parsed.', { fix: ENCODE })
  const settings: Settings = {}
  for (const name of SETTINGS) {
    const value = params.get(name)
    if (value !== null) settings[name] = value
    params.delete(name)
  }
  // Replace these modes with verify-full. The driver treats them as verify-full, but would warn that a future version
  // will not check the certificate or the host name.
  if (/^(prefer|require|verify-ca)$/.test(params.get('sslmode') ?? '')) params.set('sslmode', 'verify-full')
  const connectionString = params.size === 0 ? place : `${place}?${params}`
  checkParsable(connectionString)
  return { connectionString, settings }
}

/** Makes the driver parse the address, with a client that does not connect. Throws if parsing fails. */
function checkParsable(connectionString: string): void {
  try {
    new pg.Client({ connectionString })
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException
    if (path !== undefined) {
      throw new DatabaseUrlError(
        `The file ${path} in the address of the PostgreSQL database cannot be read (${code}).`,
        {
          fix: 'correct sslrootcert, sslcert, or sslkey, or let this user read the file',
          cause: error,
        },
      )
    }
    throw new DatabaseUrlError('The address of the PostgreSQL database cannot be parsed.', {
      fix: ENCODE,
      cause: error,
    })
  }
}
