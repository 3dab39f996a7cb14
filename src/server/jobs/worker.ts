import { setTimeout as sleep } from 'node:timers/promises'
import { DiscardError, RescheduleError } from '../../core/errors.ts'
import { groupBy } from '../../core/group-by.ts'
import { jobBackoffSeconds, MAX_JOB_ATTEMPTS } from '../../core/rules/sending/retries.ts'
import { isTaken, isUnavailable } from '../../storage/db/database-errors.ts'
import {
  type DuePlace,
  isRegularQueue,
  type JobKind,
  type OnDue,
  placeOf,
  queuePlaces,
} from '../../storage/jobs/job-kinds.ts'
import type { Job } from '../../storage/jobs/jobs-repository.ts'
import type { Repositories } from '../../storage/store.ts'
import { createShares } from '../admission/queue-shares.ts'
import type { Services } from '../context.ts'
import { allEnded } from './all-ended.ts'
import { createThrottle, type QueueOptions, quarantineOptions, type WorkerQueues } from './queue-options.ts'

/**
 * Runs jobs of one kind and completes them in the transaction that writes their effects. The result of `Jobs.complete`
 * omits jobs that were lost to another worker. If the handler throws, the worker runs each half of the jobs again,
 * until the failing job is alone, and then retries or discards this job.
 */
export type JobHandler = (jobs: Job[], services: Services, slot?: Slot) => Promise<void>

export interface Slot {
  /** Whether a job that has no more work can keep its slot, so that the job continues immediately when work arrives. */
  mayStay(): boolean
  /**
   * Gives the slot to another batch, because this batch hangs at a platform. This batch keeps its jobs and continues.
   */
  leave(): void
}

export type OnDiscard = (tx: Repositories, job: DiscardedJob, message: string, at: Date) => Promise<void>

export type DiscardedJob = Pick<Job, 'workspaceId' | 'subject' | 'correlationId'>

/** The worker renews its leases three times per `leaseSeconds`. */
export interface WorkerOptions {
  handlers: Record<JobKind, JobHandler>
  onDiscard?: Partial<Record<JobKind, OnDiscard>>
  queues: WorkerQueues
  leaseSeconds?: number
  pollSeconds?: number
}

export type Worker = ReturnType<typeof startWorker>

const NACK_RETRY_MS = 250

/** The time without a poll after which a queue with free slots counts as hanging; at least two poll intervals. */
const ALIVE_MS = 30_000

/**
 * Starts a loop for each queue and priority. The loops claim jobs from the outbox, so that any number of workers and
 * processes can share the work.
 */
export function startWorker(services: Services, options: WorkerOptions) {
  const wake: OnDue = (place) => running.find((one) => one.place === place)?.wake()
  const running = [
    startQueue(services, { ...options, wakeOther: wake, place: 'quarantine', settings: quarantineOptions }),
    ...queuePlaces.flatMap((place) => {
      const settings = options.queues[place.queue][place.priority]
      return settings ? [startQueue(services, { ...options, wakeOther: wake, place, settings })] : []
    }),
  ]
  let isStopping = false
  return {
    /** Polls a queue immediately. Call it after this process committed jobs of the queue. */
    wake,
    /** Whether each queue was polled recently (`ALIVE_MS`) or has no free slot. False while the worker stops. */
    isRunning: () => !isStopping && running.every((queue) => queue.isAlive()),
    /** Stops claiming jobs and waits for in-flight jobs to finish. */
    async stop(): Promise<void> {
      isStopping = true
      await Promise.all(running.map((queue) => queue.stop()))
    },
    /** Returns in-flight jobs to the queue without counting an attempt. Call it before the process exits. */
    async abandon(): Promise<void> {
      await Promise.all(running.map((queue) => queue.abandon()))
    },
  }
}

type StartedQueue = WorkerOptions & { place: DuePlace; settings: QueueOptions; wakeOther: OnDue }

function startQueue(services: Services, { place, settings, wakeOther, ...options }: StartedQueue) {
  const { queue, priority } = place === 'quarantine' ? { queue: place, priority: undefined } : place
  const { handlers, leaseSeconds = 10, pollSeconds = 1 } = options
  const { batchSize, batches, hanging: mostHanging = batches, perSecond } = settings
  const throttle = createThrottle(perSecond)
  const pollMilliseconds = pollSeconds * 1000
  const { store, clock, isClockOff, log, metrics } = services
  /**
   * A store for claiming jobs and renewing their leases. These writes have their own queue for the write lock, so that
   * they do not wait behind the writes of handlers.
   */
  const claiming = store.forJobs(queue)
  const inFlight = new Map<Promise<void>, Job[]>()
  const hanging = new Map<Promise<void>, Job[]>()
  const shares = createShares(batches)
  let lastTurn: string | undefined
  let isStopping = false
  let isWoken = false
  let polledAt = performance.now()
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
      else await claimDue()
    }
    await Promise.all([...inFlight.keys(), ...hanging.keys()])
  }

  async function claimDue(): Promise<void> {
    isWoken = false
    polledAt = performance.now()
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

  /** Returns the time until the next job, at most the poll interval, because other processes can insert jobs. */
  function millisecondsTo(nextRunAt: Date | undefined): number {
    return nextRunAt ? Math.min(nextRunAt.getTime() - clock().getTime(), pollMilliseconds) : pollMilliseconds
  }

  /** Claims a batch of the next workspace in turn. Skips workspaces whose jobs other workers claimed first. */
  async function claim(): Promise<{ claimed?: Job[]; nextRunAt?: Date | undefined }> {
    const except = shares.full()
    for (;;) {
      // Read first, so that an idle worker never waits for the write lock.
      const { workspaceId, nextRunAt } = await store.jobs.nextTurn(queue, clock(), {
        priority,
        after: lastTurn,
        except,
      })
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
      // If another server claimed a job of the same subject concurrently, claim nothing.
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
        shares.freeSlot(workspaceId)
        onLeft()
        wake()
      },
    }
    const batch = runAll(jobs, slot)
      .catch((error) => log.error({ err: error }, 'the worker could not reach the outbox'))
      .finally(() => {
        if (inFlight.delete(batch)) shares.freeSlot(workspaceId)
        hanging.delete(batch)
        // Poll again, because jobs that waited for the subjects of this batch can run now. After a batch of quarantined
        // jobs, also wake the regular queues of these jobs, where jobs with the same subjects can wait.
        wake()
        for (const other of new Set(jobs.map(placeOf))) if (other !== place) wakeOther(other)
      })
    inFlight.set(batch, jobs)
  }

  function wake(): void {
    isWoken = true
    wakeUp()
  }

  async function runAll(jobs: Job[], slot: Slot): Promise<void> {
    const byKind = groupBy(jobs, ({ kind }) => kind)
    await allEnded([...byKind].map(([kind, some]) => run(kind, some, slot)))
  }

  /**
   * Renews all leases in one statement. A worker can have hundreds of batches, and separate statements would each
   * commit. The statement skips jobs that a transaction has locked. Another statement per batch waits for these locks
   * and renews the skipped jobs, because a job with many chunks is locked almost all the time.
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
      // Isolate a failing job: run each half of the batch separately, until the failing job is alone.
      const half = Math.ceil(jobs.length / 2)
      if (jobs.length > 1) for (const some of [jobs.slice(0, half), jobs.slice(half)]) await run(kind, some, slot)
      else await discardOrNack(jobs[0]!, error)
    }
  }

  function note(kind: JobKind, jobs: Job[], milliseconds: number): void {
    metrics.jobSeconds.observe({ kind }, milliseconds / 1000)
    if (!log.isLevelEnabled('debug')) return
    const ms = Math.round(milliseconds)
    for (const { subject, workspaceId, correlationId, attempts } of jobs) {
      log.debug({ correlationId, kind, subject, workspaceId, attempts, ms }, 'job ran')
    }
  }

  async function discardOrNack(job: Job, error: unknown): Promise<void> {
    const { kind, subject, correlationId } = job
    if (!isHeldBack(error)) log.error({ err: error, kind, subject, correlationId }, 'a job failed')
    const now = clock()
    await untilReached(() =>
      store.forJobs(job.workspaceId).transaction(async (tx) => {
        if (!(await nackFailed(tx, job, error, now))) return
        await options.onDiscard?.[kind]?.(tx, job, error instanceof Error ? error.message : String(error), now)
      }),
    )
  }

  /** Retries while the database is unavailable. Otherwise, failed jobs would wait for the end of their leases. */
  async function untilReached(work: () => Promise<void>): Promise<void> {
    const triedUntil = performance.now() + leaseSeconds * 1000
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (!isUnavailable(error) || isStopping || performance.now() > triedUntil) throw error
      }
      await sleep(NACK_RETRY_MS)
    }
  }

  const renewal = setInterval(
    () => renew().catch((error) => log.warn({ err: error }, 'could not renew leases')),
    (leaseSeconds * 1000) / 3,
  )
  const running = loop().finally(() => clearInterval(renewal))
  return {
    place,
    wake,
    isAlive: () => inFlight.size >= batches || performance.now() - polledAt < Math.max(ALIVE_MS, 2 * pollMilliseconds),
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
 * Snoozes a job that was held back (see `isHeldBack`). Discards any other job after its last attempt or a DiscardError.
 * Until then, schedules a retry with an increasing delay, at least the delay of a RescheduleError. Returns whether the
 * job was discarded.
 */
export async function nackFailed(tx: Repositories, job: Job, error: unknown, at: Date): Promise<boolean> {
  const wantedSeconds = error instanceof RescheduleError ? error.retryAfterSeconds : 0
  if (isHeldBack(error)) {
    await tx.jobs.snooze([job], inSeconds(at, Math.max(wantedSeconds, 1)))
    return false
  }
  const message = error instanceof Error ? error.message : String(error)
  // If the lease of this worker has ended, `fail` discards nothing and returns false.
  if (job.attempts >= MAX_JOB_ATTEMPTS || error instanceof DiscardError) return tx.jobs.fail([job], at, message)
  await tx.jobs.retry([job], inSeconds(at, Math.max(jobBackoffSeconds(job.attempts), wantedSeconds)), message)
  return false
}

/** Whether an error means that the job was held back without an attempt, and so has not failed. */
export function isHeldBack(error: unknown): boolean {
  return error instanceof RescheduleError && !error.countsAsAttempt
}

function inSeconds(at: Date, seconds: number): Date {
  return new Date(at.getTime() + seconds * 1000)
}
