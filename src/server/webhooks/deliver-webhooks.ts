import type { KeyObject } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Job } from '../../storage/jobs/jobs.ts'
import type { StoreEvent } from '../../storage/operations/store-events.ts'
import type { CompletedAttempt, DueDelivery } from '../../storage/webhooks/delivery-row.ts'
import type { StoredWebhook } from '../../storage/webhooks/webhooks.ts'
import type { JobServices, LongJobServices, Services } from '../context.ts'
import { allEnded } from '../jobs/all-ended.ts'
import { workInChunks } from '../jobs/chunks.ts'
import type { Slot } from '../jobs/worker.ts'
import { type AttemptServices, attempt, createAttemptBuffer, recordAttempts } from './attempts.ts'
import { lookWhetherHeld } from './sender-looks.ts'
import { END_CHUNK } from './webhook-health.ts'

type SenderServices = AttemptServices & LongJobServices & Pick<Services, 'webhookSecrets' | 'wakeUps' | 'isClockOff'>

/**
 * Sends whatever is due for an endpoint, then leaves one job for the time of its next attempt. Of its jobs one runs at a time,
 * on all servers together, so that its bound on requests in flight holds; whatever is written presents the claim.
 */
export async function deliverWebhooks(jobs: Job[], services: SenderServices, slot?: Slot): Promise<void> {
  await allEnded(jobs.map((job) => deliver(job, services, slot)))
}

const MAX_GENERATION = 2 ** 31 - 1

async function deliver(job: Job, services: SenderServices, slot: Slot | undefined): Promise<void> {
  const { workspaceId, subject: webhookId } = job
  const { store } = services
  const webhook = await store.webhooks.findToSend(workspaceId, webhookId)
  // Of a webhook that is gone, every generation is old.
  const { generation, hasStale } = webhook ?? { generation: MAX_GENERATION, hasStale: true }
  if (hasStale && !(await endStale(job, generation, services))) return
  if (webhook?.status !== 'ENABLED') {
    await store.statement((tx) => tx.jobs.complete([job]))
    return
  }
  const lost = new AbortController()
  const stopLooking = lookWhetherHeld(job, services, () => lost.abort())
  try {
    const unwritten = await sendDue(webhook, { job, lost: lost.signal, slot }, services)
    await finish(job, webhook, unwritten, services)
  } finally {
    stopLooking()
  }
}

/** What waited when the endpoint was disabled or deleted. False where the job is no longer ours. */
function endStale(job: Job, before: number, services: LongJobServices): Promise<boolean> {
  const { workspaceId, subject: webhookId } = job
  const { clock } = services
  const size = { first: END_CHUNK, most: END_CHUNK }
  return workInChunks(job, services, size, async (tx, limit) => {
    await tx.deliveries.end(workspaceId, webhookId, { before, at: clock(), limit })
    return !(await tx.deliveries.hasStale(workspaceId, webhookId, before))
  })
}

/** Writes what is not written yet, and leaves a job for what is to come. */
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
    // Whoever has it now does the rest.
    if ((await tx.jobs.complete([job])).length === 0) return
    const webhook = await recordAttempts(tx, sentTo, unwritten, { at, log })
    // First the jobs that wait, then what is due: a delivery that comes in between has a job that stays.
    await tx.jobs.deleteWaiting(kind, subject)
    const isChanged = webhook?.generation !== sentTo.generation
    const next = isChanged ? at : await tx.deliveries.findNextDue(workspaceId, sentTo)
    if (!next) return
    // What is still due had its turn: it goes behind the endpoints that wait for theirs. A wrong clock may be far ahead.
    const runAt = next > at || isClockOff() ? next : at
    await tx.jobs.insert([{ workspaceId, kind, subject, correlationId: null, runAt }], at)
  })
}

/** Deliveries that a transaction makes. Few at first: each job is timed anew. */
const DELIVERIES = { first: 25, most: 500 }

/** Makes the deliveries of what happened in a workspace, a bounded number in each transaction. */
export async function fanOutEvents(jobs: Job[], services: LongJobServices): Promise<void> {
  for (const job of jobs) {
    const { workspaceId, kind, subject } = job
    await workInChunks(job, services, DELIVERIES, async (tx, deliveries) => {
      // First the jobs that wait, then what is pending: an event that comes in between has a job that stays.
      await tx.jobs.deleteWaiting(kind, subject)
      if (await tx.events.fanOut(workspaceId, services.clock(), deliveries)) return false
      await tx.jobs.complete([job])
      return true
    })
  }
}

/** Requests in flight to one endpoint. */
const MAX_IN_FLIGHT = 8

/** An endpoint that fails gets one at a time until it answers: many dead ones must not use up what the living need. */
const MAX_IN_FLIGHT_FAILING = 1

/**
 * Deliveries read at once: twice as many as the endpoint took in a row, and few of one that hangs or fails, since it may not
 * take more for long. With fewer left than this, the next are read while these are sent.
 */
const PAGE = { least: 2 * MAX_IN_FLIGHT, most: 400 }

/** Attempts that were made and are not written yet: what is sent again after a crash. */
const MAX_UNWRITTEN = 800

/**
 * An endpoint may be disabled or moved at any time: before a send it is looked at again when it was last seen so long ago.
 * Whoever makes a delivery has seen it too; on a busy server half as long was often over by the commit, and the look delayed
 * the event by a trip.
 */
const FRESH_MS = 100

/** After so long nothing more is begun where others may want the place, and they take their turn. */
const TURN_MS = 10_000

/** Deliveries that other servers made meanwhile are looked for so often. */
const POLL_MS = 500

/**
 * So long after its last request whoever is done stays for more, where there is room: an event that follows the one before
 * it needs no turn at the writer then, neither to end this job nor to claim the next.
 */
const STAY_MS = 500

/** Meanwhile it looks so often for deliveries that other servers made. */
const STAYING_LOOK_MS = 200

/** The job that sends to an endpoint. */
export interface Sender {
  job: Job
  /** Aborted once the job is no longer ours. */
  lost: AbortSignal
  slot: Slot | undefined
}

/**
 * Sends what is due for an endpoint until nothing is, its turn is over, the server stops, or the job is lost; returns the
 * attempts that are not written yet.
 */
async function sendDue(
  webhook: StoredWebhook,
  { job, lost, slot }: Sender,
  services: SenderServices,
): Promise<CompletedAttempt[]> {
  const { store, webhookSecrets, wakeUps, clock, isClockOff, stopping } = services
  const underWay = new Set<string>()
  const inFlight = new Set<Promise<void>>()
  const queue: DueDelivery[] = []
  /** Made in this process since the read that is under way began, which may bring them too. */
  const madeMeanwhile = new Set<string>()
  const turnEnd = performance.now() + TURN_MS
  let endpoint: StoredWebhook | undefined
  let keys: KeyObject[] = []
  let seenAt = 0
  let reading: Promise<void> | undefined
  let readAt = 0
  let sentAt = performance.now()
  let tookInRow = 0
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
    // What is expensive about secrets is to open them.
    if (current && current.secret !== endpoint?.secret) keys = webhookSecrets.livingKeys(current, clock())
    endpoint = current
    seenAt = performance.now()
  }

  const page = () => Math.min(PAGE.most, Math.max(PAGE.least, 2 * tookInRow))

  async function read(): Promise<void> {
    const options = { at: clock(), limit: page(), underWay: [...underWay] }
    madeMeanwhile.clear()
    readAt = performance.now()
    const due = await store.deliveries.listDue(webhook.workspaceId, webhook, options)
    for (const delivery of due) {
      if (madeMeanwhile.has(delivery.id)) continue
      underWay.add(delivery.id)
      queue.push(delivery)
    }
    // Few that were read are all there is for now.
    mayBeMore = due.length > MAX_IN_FLIGHT
  }

  /** What a transaction of this process just made need not be read. A read may bring it before its commit is told of. */
  function onEvent(event: StoreEvent): void {
    const made = event.what === 'deliveries' ? event.made?.filter(({ id }) => !underWay.has(id)) : undefined
    if (!made || queue.length + made.length > PAGE.most) hasArrived = true
    else {
      for (const delivery of made) {
        if (reading) madeMeanwhile.add(delivery.id)
        underWay.add(delivery.id)
        queue.push(delivery)
      }
    }
    onArrival?.()
  }

  /** Whether the endpoint has just been seen as it is known here: by whoever read or made the delivery, or after that. */
  function isFresh({ endpoint: seen }: DueDelivery, now: number): boolean {
    const isSame = seen.generation === endpoint!.generation && +seen.updatedAt === +endpoint!.updatedAt
    if (!isSame && seen.seenAt > seenAt) return false
    return now - (isSame ? Math.max(seenAt, seen.seenAt) : seenAt) < FRESH_MS
  }

  /** Something was erased since the delivery was read: it may be this. */
  function readAgain(delivery: DueDelivery): void {
    queue.shift()
    underWay.delete(delivery.id)
    mayBeMore = true
  }

  async function send(delivery: DueDelivery): Promise<void> {
    try {
      const made = await attempt(endpoint!, delivery, keys, services)
      tookInRow = made.outcome.error === null ? tookInRow + 1 : 0
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

  /** Until a request has ended, or attempts are written. */
  const change = () =>
    new Promise<void>((resolve) => {
      onChange = resolve
    })

  /** Until deliveries come, or some time is over; resolves to whether any came. */
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
      const isAsked = mayBeMore || (hasRoom && (hasArrived || now - readAt >= POLL_MS))
      if (queue.length < page() && !reading && isAsked) {
        hasArrived = false
        reading = read()
          .catch(onFailure)
          .finally(() => {
            reading = undefined
          })
      }
      if (queue.length === 0) {
        if (reading) await Promise.race([reading, arrival(POLL_MS)])
        else if (inFlight.size > 0) await Promise.race([change(), arrival(POLL_MS)])
        else if (!slot?.mayStay() || now - sentAt >= STAY_MS) break
        else mayBeMore = !(await arrival(STAYING_LOOK_MS))
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
