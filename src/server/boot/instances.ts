import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Instance } from '../../storage/jobs/fleet.ts'
import type { Buckets } from '../admission/rate-limit.ts'
import type { Services } from '../context.ts'
import { monotonicSeconds } from '../line-limit.ts'

/**
 * The interval of exchanges is BUSY_MS while any of several servers admits requests, else REST_MS. A single server only
 * reads.
 */
const BUSY_MS = 150
const REST_MS = 1_000
/** The time after which a server whose heartbeat does not change counts as stopped. */
const GONE_SECONDS = 5
/** The time after which other servers delete the row of a server whose heartbeat does not change. */
const REMOVED_SECONDS = 60

/**
 * Shares rate limits among the servers on a database. Each server writes the numbers of requests that it admitted into
 * its own row, and reads the rows of the others. Requests never wait for this. A single server writes its row only
 * once. A server counts as alive while its row changes. Each server measures this with its own clock, so that clocks
 * can differ.
 */
export function startInstances({ store, log }: Pick<Services, 'store' | 'log'>, buckets: Buckets) {
  const id = randomUUID()
  const known = new Map<string, { heartbeat: number; changedAt: number; usage: Record<string, number> }>()
  const stopped = new AbortController()
  let heartbeat = 0
  let isAnnounced = false
  let isFirst = true
  let others = 0

  async function exchange(): Promise<{ isBusy: boolean }> {
    const usage = buckets.usage(monotonicSeconds())
    if (others > 0 || !isAnnounced) {
      heartbeat += 1
      await store.transaction((tx) => tx.instances.write({ id, heartbeat, usage }))
      isAnnounced = true
    }
    const instances = await store.instances.listOthers(id)
    const now = monotonicSeconds()
    for (const instance of instances) merge(instance, now)
    isFirst = false
    others = [...known.values()].filter(({ changedAt }) => now - changedAt < GONE_SECONDS).length
    buckets.share(1 + others, now)
    await forget(instances, now)
    return { isBusy: others > 0 && [usage, ...instances.map((instance) => instance.usage)].some(hasUsage) }
  }

  function merge({ id: from, heartbeat: latest, usage }: Instance, now: number): void {
    const before = known.get(from)
    if (before?.heartbeat === latest) return
    known.set(from, { heartbeat: latest, changedAt: now, usage })
    // In the first exchange, ignore the usage of other servers, because it counts requests from before this server
    // started.
    if (isFirst) return
    for (const [key, count] of Object.entries(usage)) {
      const counted = before?.usage[key] ?? 0
      const added = count < counted ? count : count - counted
      if (added > 0) buckets.merge(from, key, added, now)
    }
  }

  async function forget(instances: Instance[], now: number): Promise<void> {
    const present = new Set(instances.map((instance) => instance.id))
    for (const instance of known.keys()) if (!present.has(instance)) known.delete(instance)
    const dead = [...known].filter(([, { changedAt }]) => now - changedAt > REMOVED_SECONDS).map(([gone]) => gone)
    if (dead.length > 0) await store.transaction((tx) => tx.instances.delete(dead))
  }

  async function loop(): Promise<void> {
    while (!stopped.signal.aborted) {
      const { isBusy } = await exchange().catch((error) => {
        log.warn({ err: error }, 'could not share the rate limits with other instances')
        // Force a write in the next exchange, because other servers might already count this server as stopped.
        isAnnounced = false
        return { isBusy: false }
      })
      await sleep(isBusy ? BUSY_MS : REST_MS, undefined, { signal: stopped.signal }).catch(() => undefined)
    }
  }

  const running = loop()
  return {
    async stop(): Promise<void> {
      stopped.abort()
      await running
      await store
        .transaction((tx) => tx.instances.delete([id]))
        .catch((error) => log.warn({ err: error }, 'could not deregister this instance from the rate limits'))
    },
  }
}

function hasUsage(usage: Record<string, number>): boolean {
  return Object.keys(usage).length > 0
}
