import { ApiError } from '../../core/errors.ts'
import type { StoredLimit } from '../../core/rules/pass/workspace-limits.ts'
import type { Repositories, Store } from '../../storage/store.ts'
import type { StoredUsage } from '../../storage/workspaces/limits-repository.ts'
import type { TokenWithWorkspace } from '../../storage/workspaces/tokens-repository.ts'

export type WorkspaceRoom = Pick<TokenWithWorkspace['workspace'], 'limits' | 'usage'>

interface Asking {
  workspaceId: string
  token: { workspace: WorkspaceRoom }
}

/**
 * If the usage is closer to a limit than this distance, it is read under a lock, because concurrent requests could
 * otherwise exceed the limit. If it is farther away, the usage in the cached token is exact enough: the token is at
 * most a second old, and no client writes this much in a second.
 */
const FAR: StoredUsage = { passes: 100_000, storedBytes: 1024 ** 3 }
const stored = Object.keys(FAR) as (keyof StoredUsage)[]

/** Reserves capacity for data that is about to be stored. Returns an error if the data would exceed a limit. */
export type TakeRoom = (wanted: Partial<StoredUsage>) => ApiError | undefined

/**
 * Returns a function that checks the limits on passes and bytes. If a limit is near, locks the workspace until the
 * transaction ends.
 */
export async function openRoom(tx: Repositories, { workspaceId, token }: Asking): Promise<TakeRoom> {
  const { limits, usage } = token.workspace
  if (stored.every((name) => limits[name] - usage[name] > FAR[name])) return () => undefined
  await tx.usage.lock(workspaceId)
  const used = await tx.usage.findStored(workspaceId)
  return (wanted) => {
    const full = stored.find((name) => (wanted[name] ?? 0) > 0 && used[name] + wanted[name]! > limits[name])
    if (full) return overLimit(full, { allowed: limits[full], used: used[full] })
    for (const name of stored) used[name] += wanted[name] ?? 0
  }
}

/** Checks the limit on bytes, if `bytes` is positive. @throws ApiError CONFLICT if the bytes would exceed the limit */
export async function requireBytes(tx: Repositories, asking: Asking, bytes: number): Promise<void> {
  if (bytes <= 0) return
  const problem = (await openRoom(tx, asking))({ storedBytes: bytes })
  if (problem) throw problem
}

export function bytesOf(value: object): number {
  return Buffer.byteLength(JSON.stringify(value))
}

/**
 * Locks the workspace and checks a limit. Call it in the transaction that adds to the usage.
 * @throws ApiError CONFLICT if the usage has reached the limit
 */
export async function requireUnderLimit(
  tx: Repositories,
  { workspaceId, token }: Asking,
  limit: 'webhooks' | 'scheduledSends' | 'draftsPerTemplate',
  count: () => Promise<number>,
): Promise<void> {
  await tx.usage.lock(workspaceId)
  const used = await count()
  const allowed = token.workspace.limits[limit]
  if (used >= allowed) throw overLimit(limit, { allowed, used })
}

/**
 * The maximum age of a job count. At the limit, a count expires after RECOUNTED_MS, so that a workspace can queue jobs
 * soon after its other jobs have run.
 */
const COUNTED_MS = 10_000
const RECOUNTED_MS = 1_000
const MAX_WORKSPACES = 10_000

/** Counts jobs that are about to be queued. Returns an error if the jobs would exceed the limit. */
export type TakeQueue = (context: Asking & { store: Store; now: Date }, jobs: number) => Promise<ApiError | undefined>

/**
 * Limits waiting jobs. Jobs change too fast for a stored counter. The jobs are therefore counted every COUNTED_MS, and
 * this process adds its own new jobs in between. Jobs that other processes queue in between, and the fan-out of
 * broadcasts, can exceed the limit.
 */
export function createTakeQueue(): TakeQueue {
  const counts = new Map<string, { jobs: number; at: number }>()
  return async ({ store, workspaceId, token, now }, jobs) => {
    const allowed = token.workspace.limits.waitingJobs
    let count = counts.get(workspaceId)
    const isOver = count !== undefined && count.jobs + jobs > allowed
    // Use the absolute age, so that an old count expires even if the clock was set back.
    const age = Math.abs(now.getTime() - (count?.at ?? 0))
    if (count === undefined || age >= (isOver ? RECOUNTED_MS : COUNTED_MS)) {
      count = { jobs: await store.usage.countWaitingJobs(workspaceId, allowed + 1), at: now.getTime() }
      if (counts.size >= MAX_WORKSPACES) counts.clear()
      counts.set(workspaceId, count)
    }
    if (count.jobs + jobs > allowed) return overLimit('waitingJobs', { allowed, used: count.jobs })
    count.jobs += jobs
  }
}

const words: Record<StoredLimit, [what: string, remedy: string]> = {
  webhooks: ['webhooks', 'delete one'],
  passes: ['passes', ''],
  storedBytes: ['bytes of images, definitions, and variables', 'delete drafts'],
  waitingJobs: ['waiting jobs', 'try again when some have run'],
  draftsPerTemplate: ['drafts of a template', 'publish or delete one'],
  scheduledSends: ['scheduled notifications and broadcasts', 'cancel one, or wait until one was sent'],
}

function overLimit(limit: StoredLimit, { allowed, used }: { allowed: number; used: number }): ApiError {
  const [what, remedy] = words[limit]
  const more = 'ask an operator to raise the limit ("passes workspace limits")'
  return new ApiError('CONFLICT', {
    message: `The workspace has ${used} ${what}, and at most ${allowed} are allowed: ${remedy ? `${remedy}, or ` : ''}${more}.`,
    details: { limit, allowed, used },
  })
}
