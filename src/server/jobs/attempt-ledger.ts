import type { MadeAttempt } from '../../storage/deliveries.ts'
import type { StoredWebhook } from '../../storage/webhooks.ts'
import type { Services } from '../context.ts'
import { noteHealth } from '../webhook-health.ts'
import type { Hold } from './webhook-hold.ts'

/** So many are written at once, without waiting for more. */
const FULL = 200

/** So long attempts that succeeded wait for more of them: a transaction costs hardly more for many than for one. */
const LINGER_MS = 20

/** Attempts on their way into the database. */
export interface AttemptLedger {
  add(attempt: MadeAttempt): void
  /** Attempts that are not written yet. */
  size(): number
  /** Waits until all are written, or could not be. */
  settled(): Promise<void>
}

export interface LedgerListener {
  /** With the endpoint as it is now; undefined where another sender holds it, and nothing was written. */
  onWritten(webhook: StoredWebhook | undefined, attempts: MadeAttempt[]): void
  onFailure(error: unknown): void
}

/**
 * Writes attempts in groups: what ends while it writes goes together in the next transaction. One that failed does not wait
 * for more, since it may be why the endpoint is to be spared.
 */
export function createAttemptLedger(
  { workspaceId, id }: StoredWebhook,
  hold: Hold,
  { store, clock, log }: Services,
  { onWritten, onFailure }: LedgerListener,
): AttemptLedger {
  let unwritten: MadeAttempt[] = []
  let writing: Promise<void> | undefined
  let lingering: NodeJS.Timeout | undefined
  let size = 0

  async function writeAll(): Promise<void> {
    while (unwritten.length > 0) {
      const attempts = unwritten
      unwritten = []
      const webhook = await write(attempts)
      size -= attempts.length
      onWritten(webhook, attempts)
    }
  }

  function write(attempts: MadeAttempt[]): Promise<StoredWebhook | undefined> {
    return store.transaction(async (tx) => {
      const current = await tx.webhooks.renewHold(workspaceId, id, hold.sender, hold.until())
      if (!current) return undefined
      await tx.deliveries.record(workspaceId, attempts, clock())
      const noted = await noteHealth(tx, current, attempts, clock())
      if (noted.status !== current.status) log.warn({ webhookId: id, reason: noted.disabledReason }, 'webhook disabled')
      return noted
    })
  }

  function flush(): Promise<void> {
    clearTimeout(lingering)
    lingering = undefined
    writing ??= writeAll()
      .catch(onFailure)
      .finally(() => {
        writing = undefined
      })
    return writing
  }

  return {
    add(attempt) {
      unwritten.push(attempt)
      size += 1
      if (attempt.outcome.error !== null || unwritten.length >= FULL) flush()
      else lingering ??= setTimeout(flush, LINGER_MS)
    },
    size: () => size,
    settled: flush,
  }
}
