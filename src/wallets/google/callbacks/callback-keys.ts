import type { Dispatcher } from 'undici'
import { z } from 'zod'
import { GoogleApiError } from '../api/api-error.ts'
import { type HttpReply, send } from '../api/http.ts'
import { parseJson } from '../json.ts'
import { parseSigningKey, type SigningKey, SigningKeyJson } from '../signing-key.ts'

const ROOT_KEYS_URL = 'https://pay.google.com/gp/m/issuer/keys'

/** The keys that vouch for callbacks. Callers at the same time share one request. */
export interface RootKeys {
  /**
   * The keys that are not expired, fetched anew when the cache has aged; the old ones where that fails.
   * @throws GoogleApiError of the kind unavailable (or as Google answers) where there are none yet
   */
  current(): Promise<SigningKey[]>
  /** The same for a callback that no known key vouches for: asks again, at most once a minute. */
  refreshed(): Promise<SigningKey[]>
}

export interface RootKeysOptions {
  /** Read anew for each request; Google's own by default. */
  url?: string
  dispatcher?: Dispatcher
  clock: () => Date
}

const MIN_INTERVAL_MS = 60_000

const KeysFile = z.object({ keys: z.array(z.unknown()).max(100) })
const RootKeyJson = SigningKeyJson.extend({ protocolVersion: z.literal('ECv2SigningOnly') })

export function createRootKeys(options: RootKeysOptions): RootKeys {
  const { dispatcher, clock } = options
  let keys: SigningKey[] | undefined
  let freshUntil = 0
  let askedAt = Number.NEGATIVE_INFINITY
  let asking: Promise<void> | undefined

  const now = () => clock().getTime()
  const mayAsk = () => keys === undefined || now() - askedAt >= MIN_INTERVAL_MS

  async function ask(): Promise<void> {
    askedAt = now()
    const reply = await send({ method: 'GET', url: options.url ?? ROOT_KEYS_URL }, { dispatcher })
    keys = parseRootKeys(reply.text)
    freshUntil = askedAt + maxAgeSeconds(reply) * 1000
  }

  async function askTogether(): Promise<SigningKey[]> {
    asking ??= ask().finally(() => {
      asking = undefined
    })
    await asking.catch((error: unknown) => {
      // Keys that were good a while ago are so until they expire.
      if (keys === undefined) throw error
    })
    return unexpired()
  }

  function unexpired(): SigningKey[] {
    const at = clock()
    return (keys ?? []).filter(({ expiresAt }) => at < expiresAt)
  }

  return {
    current: async () => (now() >= freshUntil && (asking || mayAsk()) ? askTogether() : unexpired()),
    refreshed: async () => (asking || mayAsk() ? askTogether() : unexpired()),
  }
}

/** The keys of the file that can be used; ones of other protocols or curves stand there too. */
function parseRootKeys(text: string): SigningKey[] {
  const keys = (parseJson(KeysFile, text)?.keys ?? []).flatMap((value) => {
    const { data } = RootKeyJson.safeParse(value)
    return (data && parseSigningKey(data)) ?? []
  })
  if (keys.length === 0) throw new GoogleApiError({ kind: 'unavailable', message: 'Google published no root keys.' })
  return keys
}

function maxAgeSeconds({ headers }: HttpReply): number {
  return Number(/(?:^|[\s,])max-age=(\d{1,9})/i.exec(String(headers['cache-control']))?.[1] ?? 0)
}
