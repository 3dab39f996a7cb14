import { Notification, Provider } from 'apn'
import pLimit from 'p-limit'
import { CredentialError, type ProviderCall } from '../wallet.ts'
import type { AppleIdentity } from './apple-identity.ts'

/** The result of one push. `gone` means that the token is no longer valid and its registration should be removed. */
export interface PushResult {
  pushToken: string
  outcome: 'sent' | 'gone' | 'failed'
  /** Apple's reason or the message of an error, or `null` if the push was sent. */
  reason: string | null
}

/**
 * A connection to Apple's push service. The outcome `sent` means only that Apple accepted the push. If the phone
 * requests its passes later, the push has arrived.
 */
export interface ApplePush {
  send(pushTokens: string[]): Promise<PushResult[]>
  close(): Promise<void>
}

export interface RenewablePush extends ApplePush {
  /**
   * Uses the renewed certificate for all further pushes.
   * @throws CredentialError if push does not accept the certificate; the previous certificate then stays in use
   */
  renew(identity: AppleIdentity): void
}

export interface ApplePushOptions {
  identity: AppleIdentity
  server?: { address: string; port: number; ca: string }
  /** The timeout of one push. Default: 10,000. */
  timeoutMs?: number
  onCall?: ((call: ProviderCall) => void) | undefined
}

/** These limits keep a connection within Apple's limit of 1,000 streams, which the library does not enforce. */
const TOKENS_PER_CALL = 250
const CALLS_IN_FLIGHT = 4
const TIMEOUT_MS = 10_000

/**
 * A push for a pass. Its payload is an empty object that contains a space: the library sends no body for exactly {},
 * and Apple rejects a push without a body.
 */
class PassChanged extends Notification {
  compile(): string {
    return '{ }'
  }
}

/** Opens one long-lived connection. @throws CredentialError if push does not accept the certificate */
export function createApplePush({ identity, server, timeoutMs, onCall }: ApplePushOptions): RenewablePush {
  const open = (of: AppleIdentity): Connection => ({
    identity: of,
    provider: openProvider({ identity: of, server, timeoutMs }),
    calls: 0,
  })
  let current = open(identity)
  /** Previous connections that still have calls in flight. */
  const former = new Set<Connection>()
  const limit = pLimit(CALLS_IN_FLIGHT)
  const notification = new PassChanged()
  notification.topic = identity.passTypeIdentifier

  async function exchange(pushTokens: string[]): Promise<PushResult[]> {
    const began = performance.now()
    const connection = current
    const { sent, failed } = await sendOver(connection, pushTokens)
    // The library would keep using a connection that is open but no longer transports data.
    if (connection === current && sent.length === 0 && !failed.some(hasResponse)) replace(connection.identity)
    const results = [
      ...sent.map(({ device }) => ({ pushToken: device, outcome: 'sent' as const, reason: null })),
      ...failed.map(toFailure),
    ]
    const seconds = (performance.now() - began) / 1000
    onCall?.({ provider: 'apns', outcomes: results.map(({ outcome }) => outcome), seconds })
    return results
  }

  function replace(next: AppleIdentity): void {
    const previous = current
    current = open(next)
    if (previous.calls === 0) previous.provider.shutdown()
    else former.add(previous)
  }

  async function sendOver(connection: Connection, pushTokens: string[]) {
    connection.calls += 1
    try {
      return await connection.provider.send(notification, pushTokens)
    } finally {
      connection.calls -= 1
      if (connection.calls === 0 && former.delete(connection)) connection.provider.shutdown()
    }
  }

  return {
    async send(pushTokens) {
      const results: PushResult[] = []
      for (let start = 0; start < pushTokens.length; start += TOKENS_PER_CALL) {
        const some = pushTokens.slice(start, start + TOKENS_PER_CALL)
        results.push(...(await limit(() => exchange(some))))
      }
      return results
    },
    renew: replace,
    async close() {
      await Promise.all([current, ...former].map(({ provider }) => provider.shutdown()))
      former.clear()
    },
  }
}

interface Connection {
  identity: AppleIdentity
  provider: Provider
  calls: number
}

/** Checks that Apple push accepts a certificate. @throws CredentialError */
export function assertTakesPush(identity: AppleIdentity): void {
  void openProvider({ identity }).shutdown()
}

function openProvider({
  identity,
  server,
  timeoutMs = TIMEOUT_MS,
}: Pick<ApplePushOptions, 'identity' | 'server' | 'timeoutMs'>): Provider {
  try {
    return new Provider({
      cert: identity.certificatePem,
      key: identity.key.export({ type: 'pkcs8', format: 'pem' }) as string,
      // By default, use Apple's production host, which pushes for passes require. For any other address, the library
      // requires `production: false`.
      ...(server
        ? { production: false, address: server.address, port: server.port, ca: [server.ca] }
        : { production: true }),
      requestTimeout: timeoutMs,
    })
  } catch (cause) {
    throw new CredentialError(
      `The Apple push service does not accept the certificate of ${identity.passTypeIdentifier} (${(cause as Error).message}): give the pass type certificate as Apple issued it.`,
      { cause },
    )
  }
}

interface Failure {
  device: string
  status?: number | string
  error?: Error
  response?: { reason?: string }
}

function hasResponse({ status }: Failure): boolean {
  return typeof status === 'number'
}

function toFailure({ device, status, error, response }: Failure): PushResult {
  const reason = response?.reason ?? error?.message ?? `status ${status}`
  const isGone = Number(status) === 410 || reason === 'BadDeviceToken' || reason === 'Unregistered'
  return { pushToken: device, outcome: isGone ? 'gone' : 'failed', reason }
}
