import { setTimeout as sleep } from 'node:timers/promises'
import { DiscardError, RescheduleError } from '../../core/errors.ts'
import { jobBackoffSeconds, MAX_JOB_ATTEMPTS } from '../../core/rules/sending/retries.ts'
import { isTaken, isUnavailable } from '../../storage/db/database-errors.ts'
import { isRegularQueue, type JobKind, type Priority, type Queue, regularQueues } from '../../storage/jobs/job-kinds.ts'
import type { Job } from '../../storage/jobs/jobs.ts'
import type { Repositories } from '../../storage/store.ts'
import type { Services } from '../context.ts'
import type { Leave } from '../http/thread.ts'
import { allEnded } from './all-ended.ts'
import { createShares } from './fairness.ts'
import {
  createThrottle,
  QUARANTINE_SLOT_MS,
  type QueueOptions,
  quarantineOptions,
  type WorkerQueues,
} from './queue-options.ts'

/**
 * Does the work of some jobs of one kind and completes them in the transaction that writes their effects: only those
 * that `complete` returns were still ours. A throw gives back the jobs that are still held.
 */
export type JobHandler = (jobs: Job[], services: Services, slot?: Slot) => Promise<void>

/** What a batch holds of its queue. */
export interface Slot {
  /** True while others have room enough: a job that is done may then keep its slot, to go on at once when more comes. */
  mayStay(): boolean
  /** Lets others have the slot, since the rest of the batch hangs at a platform; its jobs stay in hand. */
  leave(): void
}

/** What is left to write when a job failed for the last time, in the transaction that sets it aside. */
export type GiveUp = (tx: Repositories, job: SetAsideJob, message: string, at: Date) => Promise<void>

/** What a job that is set aside was about. */
export type SetAsideJob = Pick<Job, 'workspaceId' | 'subject' | 'correlationId'>

/**
 * What a worker runs, and how. A lease is 10 s by default (it is renewed after a third), a look for work without a wake-up
 * comes each second, and a job of the quarantine queue holds its slot for 2 s.
 */
export interface WorkerOptions {
  handlers: Record<JobKind, JobHandler>
  giveUp?: Partial<Record<JobKind, GiveUp>>
  queues: WorkerQueues
  leaseSeconds?: number
  pollSeconds?: number
  quarantineSlotMs?: number
}

/** The loops that run the jobs of a process. */
export interface Worker {
  /** Looks for work now: jobs of the queue were committed in this process. */
  wake(queue: Queue): void
  /** False while it stops, and while a queue that has room hangs. */
  isRunning(): boolean
  /** Takes no more work, finishes what is in flight. */
  stop(): Promise<void>
  /** Gives back what is still in flight, as if it had not begun: the process is about to end. */
  abandon(): Promise<void>
}

const GIVE_BACK_EVERY_MS = 250

/** A queue that has room asks each second: one that has not for so long hangs. */
const ALIVE_MS = 30_000

/**
 * Starts the loops that run the outbox, one for each priority of each queue. Several workers, in one process or in several,
 * share the work through claims.
 */
export function startWorker(services: Services, options: WorkerOptions): Worker {
  const running = [
    startQueue(services, { ...options, queue: 'quarantine', settings: quarantineOptions }),
    ...regularQueues.flatMap((queue) =>
      Object.entries(options.queues[queue]).map(([priority, settings]) =>
        startQueue(services, { ...options, queue, priority: priority as Priority, settings }),
      ),
    ),
  ]
  let isStopping = false
  return {
    wake: (queue) => {
      for (const one of running) if (one.queue === queue) one.wake()
    },
    isRunning: () => !isStopping && running.every((queue) => queue.isAlive()),
    async stop() {
      isStopping = true
      await Promise.all(running.map((queue) => queue.stop()))
    },
    async abandon() {
      await Promise.all(running.map((queue) => queue.abandon()))
    },
  }
}

type StartedQueue = WorkerOptions & { queue: Queue; priority?: Priority; settings: QueueOptions }

function startQueue(services: Services, { queue, priority, settings, ...options }: StartedQueue) {
  const { handlers, giveUp = {}, leaseSeconds = 10, pollSeconds = 1, quarantineSlotMs = QUARANTINE_SLOT_MS } = options
  const { batchSize, batches, hanging: mostHanging = batches, isLocal = false, perSecond } = settings
  const throttle = createThrottle(perSecond)
  const pollMilliseconds = pollSeconds * 1000
  const { store, thread, clock, isClockOff, log, metrics } = services
  /** Whatever else jobs write, those that come and those that go on do not wait for it. */
  const claiming = store.forJobs(queue)
  const inFlight = new Map<Promise<void>, Job[]>()
  /** Batches that left their slots. */
  const hanging = new Map<Promise<void>, Job[]>()
  const shares = createShares(batches)
  let lastTurn: string | undefined
  let isStopping = false
  let isWoken = false
  let lookedAt = performance.now()
  let wakeUp: () => void = () => undefined
  let onLeft: () => void = () => undefined

  async function idle(milliseconds: number): Promise<void> {
    if (isWoken || isStopping) return
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      wakeUp = resolve
      timer = setTimeout(resolve, milliseconds)
    })
    clearTimeout(timer)
  }

  async function loop(): Promise<void> {
    while (!isStopping) {
      if (inFlight.size >= batches)
        await Promise.race([...inFlight.keys(), new Promise<void>((resolve) => (onLeft = resolve))])
      else await look()
    }
    await Promise.all([...inFlight.keys(), ...hanging.keys()])
  }

  async function look(): Promise<void> {
    isWoken = false
    lookedAt = performance.now()
    const early = throttle.wait()
    if (early > 0) return idle(Math.min(early, pollMilliseconds))
    try {
      const { claimed, nextRunAt } = isClockOff() ? {} : await claim()
      if (claimed) start(claimed)
      else if (!isStopping) await idle(millisecondsTo(nextRunAt))
    } catch (error) {
      log.error({ err: error }, 'the worker could not reach the outbox')
      isWoken = false
      await idle(pollMilliseconds)
    }
  }

  /** What is to run at a later moment runs at that moment; others may put in what nobody here is told of. */
  function millisecondsTo(nextRunAt: Date | undefined): number {
    return nextRunAt ? Math.min(nextRunAt.getTime() - clock().getTime(), pollMilliseconds) : pollMilliseconds
  }

  /** A batch of the workspace whose turn it is, passing over those of which others were quicker. */
  async function claim(): Promise<{ claimed?: Job[]; nextRunAt?: Date | undefined }> {
    const except = shares.full()
    for (;;) {
      // A read first: an idle worker must not take turns with writers.
      const { workspaceId, nextRunAt } = await store.jobs.look(queue, clock(), { priority, after: lastTurn, except })
      if (workspaceId === undefined) return { nextRunAt }
      lastTurn = workspaceId
      const jobs = await claimOf(workspaceId)
      if (jobs.length > 0) return { claimed: jobs }
      if (isStopping) return {}
      except.push(workspaceId)
    }
  }

  async function claimOf(workspaceId: string): Promise<Job[]> {
    if (isStopping) return []
    const limits = { limit: Math.min(batchSize, throttle.most), leaseSeconds, priority, workspaceId }
    try {
      return await claiming.statement((tx) => tx.jobs.claim(queue, clock(), limits))
    } catch (error) {
      // In the same instant another server took a job of the same subject.
      if (isTaken(error)) return []
      throw error
    }
  }

  function start(jobs: Job[]): void {
    const { workspaceId } = jobs[0]!
    throttle.take(jobs.length)
    shares.take(workspaceId)
    const slot: Slot = {
      mayStay: () => isRegularQueue(queue) && inFlight.size < batches / 2,
      leave() {
        if (hanging.size >= mostHanging || !inFlight.delete(batch)) return
        hanging.set(batch, jobs)
        shares.nack(workspaceId)
        onLeft()
        wake()
      },
    }
    const late = isRegularQueue(queue) ? undefined : setTimeout(slot.leave, quarantineSlotMs)
    const batch = runAll(jobs, slot)
      .catch((error) => log.error({ err: error }, 'the worker could not reach the outbox'))
      .finally(() => {
        clearTimeout(late)
        if (inFlight.delete(batch)) shares.nack(workspaceId)
        hanging.delete(batch)
        // A job that was held back while another of its subject ran may be due now.
        wake()
      })
    inFlight.set(batch, jobs)
  }

  function wake(): void {
    isWoken = true
    wakeUp()
  }

  async function runAll(jobs: Job[], slot: Slot): Promise<void> {
    let leave: Leave | undefined
    try {
      if (isLocal) leave = await thread.enterJobs(jobs[0]!.workspaceId, jobs.length)
      const kinds = [...new Set(jobs.map((job) => job.kind))]
      await allEnded(
        kinds.map((kind) =>
          run(
            kind,
            jobs.filter((job) => job.kind === kind),
            slot,
          ),
        ),
      )
    } finally {
      leave?.()
    }
  }

  /**
   * All at once: a worker may have hundreds of batches in hand, and each renewal of its own would be a commit. Those that are
   * just being written are waited for batch by batch: a job of many chunks is locked at nearly every moment.
   */
  async function renew(): Promise<void> {
    const batchesInFlight = [...inFlight.values(), ...hanging.values()]
    if (batchesInFlight.length === 0) return
    const until = new Date(clock().getTime() + leaseSeconds * 1000)
    const passedOver = new Set(await claiming.statement((tx) => tx.jobs.renew(batchesInFlight.flat(), until)))
    await Promise.all(
      batchesInFlight
        .map((jobs) => jobs.filter((job) => passedOver.has(job)))
        .filter((jobs) => jobs.length > 0)
        .map((jobs) => claiming.statement((tx) => tx.jobs.renewLocked(jobs, until))),
    )
  }

  async function run(kind: JobKind, jobs: Job[], slot: Slot): Promise<void> {
    const began = performance.now()
    try {
      await handlers[kind](jobs, { ...services, store: store.forJobs(jobs[0]!.workspaceId) }, slot)
      note(kind, jobs, performance.now() - began)
    } catch (error) {
      // One that cannot work must not hold up those that were claimed beside it: halved again and again it ends up alone.
      const half = Math.ceil(jobs.length / 2)
      if (jobs.length > 1) for (const some of [jobs.slice(0, half), jobs.slice(half)]) await run(kind, some, slot)
      else await giveUpOrBack(jobs[0]!, error)
    }
  }

  /** Time is that of the batch: its jobs share their statements. */
  function note(kind: JobKind, jobs: Job[], milliseconds: number): void {
    metrics.jobSeconds.observe({ kind }, milliseconds / 1000)
    if (!log.isLevelEnabled('debug')) return
    const ms = Math.round(milliseconds)
    for (const { subject, workspaceId, correlationId, attempts } of jobs) {
      log.debug({ correlationId, kind, subject, workspaceId, attempts, ms }, 'job ran')
    }
  }

  async function giveUpOrBack(job: Job, error: unknown): Promise<void> {
    const { kind, subject, correlationId } = job
    if (!isHeldBack(error)) log.error({ err: error, kind, subject, correlationId }, 'a job failed')
    const now = clock()
    await untilReached(() =>
      store.forJobs(job.workspaceId).transaction(async (tx) => {
        if (!(await nackFailed(tx, job, error, now))) return
        await giveUp[kind]?.(tx, job, error instanceof Error ? error.message : String(error), now)
      }),
    )
  }

  /** A database that was away and is back again must not wait for the end of a lease. */
  async function untilReached(work: () => Promise<void>): Promise<void> {
    const triedUntil = performance.now() + leaseSeconds * 1000
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (!isUnavailable(error) || isStopping || performance.now() > triedUntil) throw error
      }
      await sleep(GIVE_BACK_EVERY_MS)
    }
  }

  const renewal = setInterval(
    () => renew().catch((error) => log.warn({ err: error }, 'could not renew leases')),
    (leaseSeconds * 1000) / 3,
  )
  const running = loop().finally(() => clearInterval(renewal))
  return {
    queue,
    wake,
    isAlive: () => inFlight.size >= batches || performance.now() - lookedAt < Math.max(ALIVE_MS, 2 * pollMilliseconds),
    async stop(): Promise<void> {
      isStopping = true
      wakeUp()
      await running
    },
    async abandon(): Promise<void> {
      for (const jobs of [...inFlight.values(), ...hanging.values()])
        await claiming.statement((tx) => tx.jobs.snooze(jobs, clock()))
    },
  }
}

/**
 * What becomes of a job that threw: it runs again later, longer each time and no sooner than a RescheduleError wants; after
 * the last try it is set aside for an operator, and at once by a DiscardError. Resolves to whether this was the end of it.
 */
export async function nackFailed(tx: Repositories, job: Job, error: unknown, at: Date): Promise<boolean> {
  const wantedSeconds = error instanceof RescheduleError ? error.retryAfterSeconds : 0
  if (isHeldBack(error)) {
    await tx.jobs.snooze([job], inSeconds(at, Math.max(wantedSeconds, 1)))
    return false
  }
  const message = error instanceof Error ? error.message : String(error)
  // A worker whose lease ended has nothing to give up.
  if (job.attempts >= MAX_JOB_ATTEMPTS || error instanceof DiscardError) return tx.jobs.fail([job], at, message)
  await tx.jobs.retry([job], inSeconds(at, Math.max(jobBackoffSeconds(job.attempts), wantedSeconds)), message)
  return false
}

/** True where nothing was tried: that is no failure. */
export function isHeldBack(error: unknown): boolean {
  return error instanceof RescheduleError && !error.countsAsAttempt
}

function inSeconds(at: Date, seconds: number): Date {
  return new Date(at.getTime() + seconds * 1000)
}
