import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, readFile, rm } from 'node:fs/promises'
import {
  fingerprint,
  newServerKey,
  parseServerKey,
  ServerKeyError,
  type ServerKeys,
} from '../../core/rules/crypto/server-key.ts'
import { writePrivate } from '../../files/private-file.ts'
import { openDatabase } from '../../storage/db/database.ts'
import { createStore, type Store } from '../../storage/store.ts'
import { type Config, serverKeyFile } from '../config.ts'

const FINGERPRINT = 'server-key-fingerprint'

/**
 * Returns the configured server keys. Without a configured key, the current key is in a file next to the SQLite
 * database. The first start creates this file. The database stores the fingerprint of its key.
 * @throws ServerKeyError if no key has this fingerprint, because another key would break links and secrets
 */
export async function loadServerKeys(config: Config, store: Store): Promise<ServerKeys> {
  const previous = config.previousServerKeys.map(parseServerKey)
  const current = parseServerKey((await findServerKey(config)) ?? (await createServerKey(config, store, previous)))
  const known = await store.transaction((tx) => tx.settings.insert(FINGERPRINT, fingerprint(current)))
  const keys = { current, previous }
  assertKeyOf(known, [current, ...previous])
  if (known !== fingerprint(current))
    await store.transaction((tx) => tx.settings.update(FINGERPRINT, fingerprint(current)))
  return keys
}

/** Whether the key next to a SQLite database fits its data. `unused` means that no server has used the data. */
export type KeyState = 'matches' | 'missing' | 'differs' | 'unused'

/** Compares the key next to `database` with the fingerprint in `draft`, the file that will replace the database. */
export async function keyStateOf(draft: string, database: string): Promise<KeyState> {
  const opened = openDatabase(`sqlite:${draft}`)
  try {
    const known = await findFingerprint(createStore(opened))
    if (known === undefined) return 'unused'
    const file = serverKeyFile({ databaseUrl: `sqlite:${database}` })!
    if (!existsSync(file)) return 'missing'
    return fingerprint(parseServerKey(await readFile(file, 'utf8'))) === known ? 'matches' : 'differs'
  } finally {
    await opened.close()
  }
}

/**
 * Returns the configured key or, without one, the key in the file next to the database; undefined without this file.
 * @throws ServerKeyError for PostgreSQL without a configured key
 */
export async function findServerKey(config: Config): Promise<string | undefined> {
  if (config.serverKey !== undefined) return config.serverKey
  const file = serverKeyFile(config)
  if (!file) {
    throw new ServerKeyError(
      'PostgreSQL needs the server key in PASSES_SERVER_KEY. Create one with: openssl rand -hex 32',
    )
  }
  return existsSync(file) ? readFile(file, 'utf8') : undefined
}

/** Returns the fingerprint of the key of a database; undefined if no server has used the database yet. */
export function findFingerprint(store: Store): Promise<string | undefined> {
  return store.settings.find(FINGERPRINT)
}

/** @param known the stored fingerprint @throws ServerKeyError if no key has this fingerprint */
export function assertKeyOf(known: string, keys: readonly Uint8Array[]): void {
  if (keys.some((key) => fingerprint(key) === known)) return
  throw new ServerKeyError(
    'The server key does not match this database. Set PASSES_SERVER_KEY to the right one, or, to rotate ' +
      'it, add the old one to PASSES_PREVIOUS_SERVER_KEYS.',
  )
}

/** @throws ServerKeyError if the database needs another key, such as after a restore. No file is created then */
async function createServerKey(config: Config, store: Store, previous: ServerKeys['previous']): Promise<string> {
  const known = await findFingerprint(store)
  // A server that starts concurrently creates the file before it stores the fingerprint.
  if (known !== undefined && !existsSync(serverKeyFile(config)!)) assertKeyOf(known, previous)
  return createKeyFile(config)
}

async function createKeyFile(config: Config): Promise<string> {
  const file = serverKeyFile(config)!
  const draft = `${file}.${randomUUID()}`
  await writePrivate(draft, `${newServerKey()}\n`)
  try {
    // Creating a link is atomic. If several servers start together, one server creates the key, and the others read it.
    await link(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(draft)
  }
  return readFile(file, 'utf8')
}
