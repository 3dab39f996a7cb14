import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Replica } from '../../storage/jobs/replicas.ts'
import type { Services } from '../context.ts'
import type { Buckets } from '../http/middleware/buckets.ts'
import { monotonicSeconds } from '../http/middleware/rate-limit.ts'

export interface Replicas {
  /** Tells the others that this server is gone. */
  stop(): Promise<void>
}

/** A fleet at work tells and hears so often, one at rest (or a server alone, which only looks) each second. */
const BUSY_MS = 150
const REST_MS = 1_000
/** A server that says nothing for so long is gone. */
const GONE_SECONDS = 5
/** Its row is removed by whoever notices, long after. */
const REMOVED_SECONDS = 60

interface Heard {
  beat: number
  changedAt: number
  spent: Record<string, number>
}

/**
 * Keeps the rate limits of servers on one database together: each writes what it let through into a row of its own, and
 * reads those of the others. No request waits for it, and a server that is alone writes nothing. That another lives is
 * seen from its row changing, by our own clock: machines need not agree on the time.
 */
export function startReplicas({ store, log }: Pick<Services, 'store' | 'log'>, buckets: Buckets): Replicas {
  const id = randomUUID()
  const heard = new Map<string, Heard>()
  const stopped = new AbortController()
  let beat = 0
  let isAnnounced = false
  let isFirst = true
  let others = 0

  async function exchange(): Promise<{ isBusy: boolean }> {
    const spent = buckets.spent(monotonicSeconds())
    if (others > 0 || !isAnnounced) {
      beat += 1
      await store.transaction((tx) => tx.replicas.write({ id, beat, spent }))
      isAnnounced = true
    }
    const replicas = await store.replicas.listOthers(id)
    const now = monotonicSeconds()
    for (const replica of replicas) hear(replica, now)
    isFirst = false
    others = [...heard.values()].filter(({ changedAt }) => now - changedAt < GONE_SECONDS).length
    buckets.share(1 + others, now)
    await forget(replicas, now)
    return { isBusy: others > 0 && [spent, ...replicas.map((replica) => replica.spent)].some(isSpending) }
  }

  function hear({ id: from, beat: latest, spent }: Replica, now: number): void {
    const before = heard.get(from)
    if (before?.beat === latest) return
    heard.set(from, { beat: latest, changedAt: now, spent })
    // What servers let through before this one came is past.
    if (isFirst) return
    for (const [key, count] of Object.entries(spent)) {
      const known = before?.spent[key] ?? 0
      const added = count < known ? count : count - known
      if (added > 0) buckets.hear(from, key, added, now)
    }
  }

  async function forget(replicas: Replica[], now: number): Promise<void> {
    const present = new Set(replicas.map((replica) => replica.id))
    for (const replica of heard.keys()) if (!present.has(replica)) heard.delete(replica)
    const dead = [...heard].filter(([, { changedAt }]) => now - changedAt > REMOVED_SECONDS).map(([gone]) => gone)
    if (dead.length > 0) await store.transaction((tx) => tx.replicas.delete(dead))
  }

  async function loop(): Promise<void> {
    while (!stopped.signal.aborted) {
      const { isBusy } = await exchange().catch((error) => {
        log.warn({ err: error }, 'could not share the rate limits with the other servers')
        // The others may take this one for gone.
        isAnnounced = false
        return { isBusy: false }
      })
      await sleep(isBusy ? BUSY_MS : REST_MS, undefined, { signal: stopped.signal }).catch(() => undefined)
    }
  }

  const running = loop()
  return {
    async stop() {
      stopped.abort()
      await running
      await store
        .transaction((tx) => tx.replicas.delete([id]))
        .catch((error) => log.warn({ err: error }, 'could not sign off from the other servers'))
    },
  }
}

function isSpending(spent: Record<string, number>): boolean {
  return Object.keys(spent).length > 0
}
