import { ApiError } from '../../core/errors.ts'
import type { LimitName } from '../../core/rules/pass/limits.ts'
import type { Repositories, Store } from '../../storage/store.ts'
import type { StoredUsage } from '../../storage/workspaces/limits.ts'
import type { TokenWithWorkspace } from '../../storage/workspaces/tokens.ts'

interface Asking {
  workspaceId: string
  token: TokenWithWorkspace
}

/**
 * Below this distance from a limit it is looked up under a lock, so that it holds exactly however many race. Beyond it what
 * the token knows, up to a second old, is enough: nobody writes so much within a second.
 */
const FAR: StoredUsage = { passes: 100_000, storedBytes: 1024 ** 3 }
const stored = Object.keys(FAR) as (keyof StoredUsage)[]

/** Takes room for what is about to be stored, or says why there is none. */
export type TakeRoom = (wanted: Partial<StoredUsage>) => ApiError | undefined

/** Looks at the room for passes and bytes. Near a limit the workspace is locked until the transaction ends. */
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

/** That a workspace has room for so many bytes more; a change that gives room is always taken. @throws ApiError CONFLICT */
export async function requireBytes(tx: Repositories, asking: Asking, bytes: number): Promise<void> {
  if (bytes <= 0) return
  const problem = (await openRoom(tx, asking))({ storedBytes: bytes })
  if (problem) throw problem
}

/** Of a value as it is stored. */
export function bytesOf(value: object): number {
  return Buffer.byteLength(JSON.stringify(value))
}

/**
 * For what there is little of: counted under the lock of the workspace, in the transaction that adds one.
 * @throws ApiError CONFLICT
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

/** Counts of jobs are so old at most; of a workspace at its limit one second, so that it goes on as soon as there is room. */
const COUNTED_MS = 10_000
const RECOUNTED_MS = 1_000
const MAX_WORKSPACES = 10_000

/** Notes that so many jobs are about to be queued, or says why they may not be. */
export type TakeQueue = (context: Asking & { store: Store; now: Date }, jobs: number) => Promise<ApiError | undefined>

/**
 * Jobs come and go too fast for a counter: they are counted now and then, and what this process adds meanwhile is known.
 * The limit is passed by no more than other processes queue within ten seconds, and by what a broadcast fans out to.
 */
export function createTakeQueue(): TakeQueue {
  const counts = new Map<string, { jobs: number; at: number }>()
  return async ({ store, workspaceId, token, now }, jobs) => {
    const allowed = token.workspace.limits.waitingJobs
    let count = counts.get(workspaceId)
    const isOver = count !== undefined && count.jobs + jobs > allowed
    // A clock that went back must not keep a count alive.
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

/** What there is too much of, and what gives room. */
const words: Record<Exclude<LimitName, 'requestsInFlight'>, [what: string, remedy: string]> = {
  webhooks: ['webhooks', 'delete one'],
  passes: ['passes', ''],
  storedBytes: ['bytes of images, definitions and variables', 'delete drafts'],
  waitingJobs: ['jobs that wait', 'try again when some have run'],
  draftsPerTemplate: ['drafts of a template', 'publish or delete one'],
  scheduledSends: ['scheduled notifications and broadcasts', 'cancel one, or wait until one was sent'],
}

function overLimit(limit: keyof typeof words, { allowed, used }: { allowed: number; used: number }): ApiError {
  const [what, remedy] = words[limit]
  const more = `an operator may allow more (passes workspace limits)`
  return new ApiError('CONFLICT', {
    message: `The workspace may have ${allowed} ${what} and has ${used}: ${remedy ? `${remedy}, or ` : ''}${more}.`,
    details: { limit, allowed, used },
  })
}
