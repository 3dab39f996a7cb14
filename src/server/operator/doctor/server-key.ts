import { fingerprint, parseServerKey } from '../../../core/rules/crypto/server-key.ts'
import type { Database } from '../../../storage/db/database.ts'
import { createStore } from '../../../storage/store.ts'
import type { Config } from '../../boot/config.ts'
import { assertKeyOf, findFingerprint, findServerKey } from '../../boot/server-key.ts'
import { type Check, examine, failed, passed, skipped } from './check.ts'

const FIX =
  'give the key that the first server was started with: PASSES_SERVER_KEY, or the .key file beside the database'

/** @param database one that can be asked */
export function checkServerKey(config: Config, database: Database | undefined): Promise<Check[]> {
  return examine('Server key', [
    {
      name: 'Fingerprint',
      fix: FIX,
      async look() {
        const text = await findServerKey(config)
        const known = database && (await findFingerprint(createStore(database)))
        if (text === undefined) {
          return known
            ? failed('The database was made with a key, and its file is gone.', FIX)
            : skipped('passes serve makes it when it first starts')
        }
        const keys = { current: parseServerKey(text), previous: config.previousServerKeys.map(parseServerKey) }
        if (!known) return skipped('the database has not been used by a server yet, or cannot be asked')
        assertKeyOf(known, keys)
        return passed(
          known === fingerprint(keys.current)
            ? 'matches the database'
            : 'a previous key matches: rotated at the next start',
        )
      },
    },
  ])
}
