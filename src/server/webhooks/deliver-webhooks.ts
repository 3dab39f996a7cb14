import type { KeyObject } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Job } from '../../storage/jobs/jobs-repository.ts'
import type { StoreEvent } from '../../storage/operations/store-events.ts'
import type { CompletedAttempt, DueDelivery } from '../../storage/webhooks/delivery-row.ts'
import type { StoredWebhook } from '../../storage/webhooks/webhooks-repository.ts'
import type { JobServices, LongJobServices, Services } from '../context.ts'
import { allEnded } from '../jobs/all-ended.ts'
import { workInChunks } from '../jobs/chunks.ts'
import type { Slot } from '../jobs/worker.ts'
import { type AttemptServices, attempt, createAttemptBuffer, END_CHUNK, recordAttempts } from './attempts.ts'
import { watchHold } from './watch-hold.ts'

type SenderServices = AttemptServices & LongJobServices & Pick<Services, 'webhookSecrets' | 'wakeUps' | 'isClockOff'>

/**
 * Sends the due deliveries of webhooks, and then inserts one job per webhook for the next attempt. Across all servers,
 * only one job per webhook runs at a time, so that the limit of requests in flight applies to all servers together.
 * Every write checks that the job is still held.
 */
export async function deliverWebhooks(jobs: Job[], services: SenderServices, slot?: Slot): Promise<void> {
  await allEnded(jobs.map((job) => deliver(job, services, slot)))
}

const MAX_GENERATION = 2 ** 31 - 1

async function deliver(job: Job, services: SenderServices, slot: Slot | undefined): Promise<void> {
  const { workspaceId, subject: webhookId } = job
  const { store } = services
  const webhook = await store.webhooks.findToSend(workspaceId, webhookId)
  // Treat every generation of a deleted webhook as stale, so that all its deliveries end.
  const { generation, hasStale } = webhook ?? { generation: MAX_GENERATION, hasStale: true }
  if (hasStale && !(await endStale(job, generation, services))) return
  if (webhook?.status !== 'ENABLED') {
    await store.statement((tx) => tx.jobs.complete([job]))
    return
  }
  const lost = new AbortController()
  const stopWatching = watchHold(job, services, () => lost.abort())
  try {
    const unwritten = await sendDue(webhook, { job, lost: lost.signal, slot }, services)
    await finish(job, webhook, unwritten, services)
  } finally {
    stopWatching()
  }
}

/**
 * Ends deliveries that were created before the webhook was disabled or deleted. Returns false if the job did not
 * finish.
 */
function endStale(job: Job, before: number, services: LongJobServices): Promise<boolean> {
  const { workspaceId, subject: webhookId } = job
  const { clock } = services
  const size = { first: END_CHUNK, most: END_CHUNK }
  return workInChunks(job, services, size, async (tx, limit) => {
    await tx.deliveries.end(workspaceId, webhookId, { before, at: clock(), limit })
    return !(await tx.deliveries.hasStale(workspaceId, webhookId, before))
  })
}

async function finish(
  job: Job,
  sentTo: StoredWebhook,
  unwritten: CompletedAttempt[],
  services: JobServices & Pick<Services, 'isClockOff'>,
): Promise<void> {
  const { store, clock, isClockOff, log } = services
  const { workspaceId, kind, subject } = job
  await store.transaction(async (tx) => {
    const at = clock()
    // If this worker no longer holds the job, stop: another sender has the job and continues.
    if ((await tx.jobs.complete([job])).length === 0) return
    const webhook = await recordAttempts(tx, sentTo, unwritten, { at, log })
    // Delete waiting jobs before the read of due deliveries, so that a delivery created after the read keeps its job.
    await tx.jobs.deleteWaiting(kind, subject)
    const isChanged = webhook?.generation !== sentTo.generation
    const next = isChanged ? at : await tx.deliveries.findNextDue(workspaceId, sentTo)
    if (!next) return
    // Schedule due deliveries for now, behind the deliveries of other webhooks that are already due. If the clock is
    // wrong, keep the original time, because "now" can be far in the future.
    const runAt = next > at || isClockOff() ? next : at
    await tx.jobs.insert([{ workspaceId, kind, subject, correlationId: null, runAt }], at)
  })
}

/** The number of deliveries per transaction: low at first, because each job has to measure its pace. */
const DELIVERIES = { first: 25, most: 500 }

export async function fanOutEvents(jobs: Job[], services: LongJobServices): Promise<void> {
  for (const job of jobs) {
    const { workspaceId, kind, subject } = job
    await workInChunks(job, services, DELIVERIES, async (tx, deliveries) => {
      // Delete waiting jobs before the read of events, so that an event that arrives after the read keeps its job.
      await tx.jobs.deleteWaiting(kind, subject)
      if (await tx.events.fanOut(workspaceId, services.clock(), deliveries)) return false
      await tx.jobs.complete([job])
      return true
    })
  }
}

/** The maximum number of requests in flight to a webhook. */
const MAX_IN_FLIGHT = 8

/**
 * The maximum number of requests in flight to a failing webhook. It is low, so that many dead webhooks do not take the
 * capacity of working webhooks.
 */
const MAX_IN_FLIGHT_FAILING = 1

/**
 * The bounds of the number of deliveries per read. Between the bounds, the number is twice the number of consecutive
 * successes. A webhook that hangs or fails gets the minimum, because it might soon be disabled. The next read begins
 * when fewer deliveries than this number are queued.
 */
const PAGE = { least: 2 * MAX_IN_FLIGHT, most: 400 }

/** The maximum number of attempts that are not written yet. After a crash, their deliveries are sent again. */
const MAX_UNWRITTEN = 800

/**
 * The maximum age of the known state of a webhook at a send. An older state is read again, because the webhook can be
 * disabled or changed at any time. A new delivery contains the state at its creation. With 50 ms, a busy server often
 * had to read the state again between the commit of an event and its delivery.
 */
const FRESH_MS = 100

/** The time after which a sender begins no further requests if other webhooks wait for its slot. */
const TURN_MS = 10_000

/**
 * The bounds of the interval at which a sender looks for deliveries that other servers created. It doubles after each
 * read that finds none, so that many webhooks that hang do not keep the database busy.
 */
const POLL_MS = { least: 500, most: 2_000 }

/** The time for which an idle sender keeps its slot, so that the next event needs no write to claim a job. */
const STAY_MS = 500

/** The interval at which an idle sender looks for deliveries that other servers created. */
const IDLE_POLL_MS = 200

export interface Sender {
  job: Job
  lost: AbortSignal
  slot: Slot | undefined
}

/** Sends due deliveries until none is left, the turn ends, or the job is lost. Returns the unwritten attempts. */
async function sendDue(
  webhook: StoredWebhook,
  { job, lost, slot }: Sender,
  services: SenderServices,
): Promise<CompletedAttempt[]> {
  const { store, webhookSecrets, wakeUps, clock, isClockOff, stopping } = services
  const underWay = new Set<string>()
  const inFlight = new Set<Promise<void>>()
  const queue: DueDelivery[] = []
  /** Deliveries that this process created since the current read began. The read can also return them. */
  const createdDuringRead = new Set<string>()
  const turnEnd = performance.now() + TURN_MS
  let endpoint: StoredWebhook | undefined
  let keys: KeyObject[] = []
  let seenAt = 0
  let reading: Promise<void> | undefined
  let readAt = 0
  let pollMs = POLL_MS.least
  let sentAt = performance.now()
  let consecutiveSuccesses = 0
  let mayBeMore = true
  let hasArrived = false
  let onArrival: (() => void) | undefined
  let onChange: (() => void) | undefined
  let failure: { error: unknown } | undefined
  const onFailure = (error: unknown) => {
    failure ??= { error }
  }
  const buffer = createAttemptBuffer(webhook, job, services, {
    onFailure,
    onWritten(current, attempts) {
      see(current)
      for (const { delivery } of attempts) underWay.delete(delivery.id)
      onChange?.()
    },
  })

  const mayGoOn = () =>
    !failure &&
    !stopping.aborted &&
    !isClockOff() &&
    !lost.aborted &&
    endpoint?.status === 'ENABLED' &&
    endpoint.generation === webhook.generation

  function see(current: StoredWebhook | undefined): void {
    // Decrypt the secrets only if they changed, because decryption is expensive.
    if (current && current.secret !== endpoint?.secret) keys = webhookSecrets.livingKeys(current, clock())
    endpoint = current
    seenAt = performance.now()
  }

  const page = () => Math.min(PAGE.most, Math.max(PAGE.least, 2 * consecutiveSuccesses))

  async function read(): Promise<void> {
    const options = { at: clock(), limit: page(), underWay: [...underWay] }
    createdDuringRead.clear()
    readAt = performance.now()
    const due = await store.deliveries.listDue(webhook.workspaceId, webhook, options)
    for (const delivery of due) {
      if (createdDuringRead.has(delivery.id)) continue
      underWay.add(delivery.id)
      queue.push(delivery)
    }
    // The limit of a read is at least 2 x MAX_IN_FLIGHT, so a read with at most MAX_IN_FLIGHT rows is the last one.
    mayBeMore = due.length > MAX_IN_FLIGHT
    pollMs = due.length > 0 ? POLL_MS.least : Math.min(2 * pollMs, POLL_MS.most)
  }

  /** Queues new deliveries of this process without a read. Skips deliveries that a read returned before the event. */
  function onEvent(event: StoreEvent): void {
    const made = event.what === 'deliveries' ? event.made?.filter(({ id }) => !underWay.has(id)) : undefined
    if (!made || queue.length + made.length > PAGE.most) hasArrived = true
    else {
      for (const delivery of made) {
        if (reading) createdDuringRead.add(delivery.id)
        underWay.add(delivery.id)
        queue.push(delivery)
      }
    }
    onArrival?.()
  }

  function isFresh({ endpoint: seen }: DueDelivery, now: number): boolean {
    const isSame = seen.generation === endpoint!.generation && +seen.updatedAt === +endpoint!.updatedAt
    if (!isSame && seen.seenAt > seenAt) return false
    return now - (isSame ? Math.max(seenAt, seen.seenAt) : seenAt) < FRESH_MS
  }

  /**
   * Removes the first delivery from the queue, so that this delivery is read again. Called if data that the delivery
   * can contain was erased since the last read.
   */
  function readAgain(delivery: DueDelivery): void {
    queue.shift()
    underWay.delete(delivery.id)
    mayBeMore = true
  }

  async function send(delivery: DueDelivery): Promise<void> {
    try {
      const made = await attempt(endpoint!, delivery, keys, services)
      consecutiveSuccesses = made.outcome.error === null ? consecutiveSuccesses + 1 : 0
      if (!lost.aborted) buffer.add(made)
    } catch (error) {
      onFailure(error)
    }
  }

  function start(delivery: DueDelivery): void {
    const sending = send(delivery).then(() => {
      inFlight.delete(sending)
      sentAt = performance.now()
      onChange?.()
    })
    inFlight.add(sending)
  }

  /** Resolves when a request has ended or attempts were written. */
  const change = () =>
    new Promise<void>((resolve) => {
      onChange = resolve
    })

  /** Waits for deliveries or a timeout. Resolves to whether deliveries arrived. */
  async function arrival(milliseconds: number): Promise<boolean> {
    await Promise.race([
      sleep(milliseconds),
      new Promise<void>((resolve) => {
        onArrival = resolve
      }),
    ])
    return hasArrived || queue.length > 0
  }

  const unsubscribe = wakeUps.subscribe(webhook.id, onEvent)
  try {
    see(webhook)
    while (mayGoOn()) {
      const now = performance.now()
      if (now >= turnEnd && !slot?.mayStay()) break
      const limit = endpoint?.failingSince ? MAX_IN_FLIGHT_FAILING : MAX_IN_FLIGHT
      const hasRoom = inFlight.size < limit
      const needsRead = mayBeMore || (hasRoom && (hasArrived || now - readAt >= pollMs))
      if (queue.length < page() && !reading && needsRead) {
        hasArrived = false
        reading = read()
          .catch(onFailure)
          .finally(() => {
            reading = undefined
          })
      }
      if (queue.length === 0) {
        if (reading) await Promise.race([reading, arrival(pollMs)])
        else if (inFlight.size > 0) await Promise.race([change(), arrival(pollMs)])
        else if (!slot?.mayStay() || now - sentAt >= STAY_MS) break
        else mayBeMore = !(await arrival(IDLE_POLL_MS))
        continue
      }
      const [next] = queue
      if (!hasRoom || buffer.size() >= MAX_UNWRITTEN) await change()
      else if (next!.endpoint.erasures < endpoint!.erasures) readAgain(next!)
      else if (isFresh(next!, now)) start(queue.shift()!)
      else see(await store.webhooks.find(webhook.workspaceId, webhook.id))
    }
  } catch (error) {
    onFailure(error)
  } finally {
    unsubscribe()
  }
  await Promise.all([...inFlight, reading])
  const unwritten = await buffer.close()
  if (!failure) return unwritten
  await buffer.flush()
  throw (failure as { error: unknown }).error
}
