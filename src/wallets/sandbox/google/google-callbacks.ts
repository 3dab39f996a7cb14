import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'

/** An event that Google reports: an object was saved to a wallet (`save`), or removed from it (`del`). */
export type CallbackEvent = { classId: string; objectId: string; eventType: 'save' | 'del' }

export interface Callbacks {
  keys(): object
  /** Sends a callback in the background, with retries. */
  post(event: CallbackEvent): void
  /** Drops undelivered callbacks. */
  close(): Promise<void>
}

export interface CallbackOptions {
  callbackUrl: string
  /** The root key of callbacks, on the curve P-256: PKCS #8 in PEM. */
  rootKey: string
  clock: () => Date
}

const PROTOCOL = 'ECv2SigningOnly'
const SENDER = 'GooglePayPasses'
const DAY_MS = 86_400_000
const MESSAGE_LIFETIME_MS = 3_600_000
const RETRY_AFTER_MS = [250, 1_000, 4_000]
const TIMEOUT_MS = 10_000

export const KEYS_MAX_AGE_SECONDS = 3600

export function createCallbacks({ callbackUrl, rootKey, clock }: CallbackOptions): Callbacks {
  const root = createPrivateKey(rootKey)
  const intermediate = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const intermediateSigningKey = signIntermediate(intermediate.publicKey, root, inDays(clock(), 30))
  const stopped = new AbortController()
  const underway = new Set<Promise<void>>()

  function build(event: CallbackEvent): string {
    const expTimeMillis = clock().getTime() + MESSAGE_LIFETIME_MS
    const signedMessage = JSON.stringify({ ...event, expTimeMillis, count: 1, nonce: randomUUID() })
    const [issuerId = ''] = event.objectId.split('.')
    const signature = signParts(intermediate.privateKey, SENDER, issuerId, PROTOCOL, signedMessage)
    return JSON.stringify({ signature, intermediateSigningKey, protocolVersion: PROTOCOL, signedMessage })
  }

  async function deliver(body: string): Promise<void> {
    for (const delay of [...RETRY_AFTER_MS, undefined]) {
      if ((await attempt(callbackUrl, body, stopped.signal)) || delay === undefined) return
      // If close() aborts the wait, ignore the error: the next line ends the loop.
      await sleep(delay, undefined, { signal: stopped.signal }).catch(() => undefined)
      if (stopped.signal.aborted) return
    }
  }

  return {
    keys: () => ({
      keys: [
        {
          keyValue: spki(createPublicKey(root)),
          protocolVersion: PROTOCOL,
          keyExpiration: String(inDays(clock(), 365)),
        },
      ],
    }),
    post(event) {
      const delivery = deliver(build(event)).finally(() => underway.delete(delivery))
      underway.add(delivery)
    },
    async close() {
      stopped.abort()
      await Promise.all(underway)
    },
  }
}

async function attempt(url: string, body: string, stopped: AbortSignal): Promise<boolean> {
  try {
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(TIMEOUT_MS)])
    const answer = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal,
    })
    await answer.body.dump()
    return answer.statusCode >= 200 && answer.statusCode < 300
  } catch {
    // Return false to try again: the server is unreachable or too slow.
    return false
  }
}

function signIntermediate(key: KeyObject, root: KeyObject, expiresAt: number) {
  // Escape equals signs, as Google does. The sandbox thus exposes receivers that parse and reserialize the key before
  // they verify it, instead of verifying the signed text.
  const signedKey = JSON.stringify({ keyValue: spki(key), keyExpiration: String(expiresAt) }).replaceAll('=', '\\u003d')
  return { signedKey, signatures: [signParts(root, SENDER, PROTOCOL, signedKey)] }
}

function signParts(key: KeyObject, ...parts: string[]): string {
  const framed = parts.flatMap((part) => {
    const bytes = Buffer.from(part)
    const length = Buffer.alloc(4)
    length.writeUInt32LE(bytes.length)
    return [length, bytes]
  })
  return sign('sha256', Buffer.concat(framed), key).toString('base64')
}

function spki(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'der' }).toString('base64')
}

function inDays(at: Date, days: number): number {
  return at.getTime() + days * DAY_MS
}
