import { type MessagedPlatform, type Platform, platforms } from '../../core/contract/schemas/platform.ts'

/**
 * The queues of the outbox. The jobs of a queue use the same resource, so that a slow resource delays only its own
 * queue.
 */
export const regularQueues = [
  // Signing and rendering of new passes.
  'issuing',
  // Pushes of updates and notifications to Apple devices.
  'pushes',
  // Rate-limited requests to Google.
  'google',
  // Requests to the endpoints of webhooks.
  'webhooks',
  // Email, over connections to the SMTP server.
  'mail',
  // Work that uses only the database.
  'database',
] as const
/** A queue of jobs that never lapsed. A job lapses if its lease ends while a worker holds it. */
export type RegularQueue = (typeof regularQueues)[number]

/**
 * The priorities in a queue. Each priority has separate slots (server/jobs/queue-options.ts). Jobs therefore never wait
 * for jobs of a lower priority, and are never stopped by many jobs of a higher priority.
 */
const priorities = ['urgent', 'interactive', 'bulk'] as const
/** `urgent` for a notification of one pass, `interactive` for another change of one pass, `bulk` for many passes. */
export type Priority = (typeof priorities)[number]

/** All queues. A process runs the lapsed jobs in `quarantine` one at a time, because they might crash the process. */
const queues = [...regularQueues, 'quarantine'] as const
export type Queue = (typeof queues)[number]
/** Whether a name is a queue. Distinguishes queues from workspace IDs in keys that can be either. */
export const isQueue = (name: string): name is Queue => (queues as readonly string[]).includes(name)
export const isRegularQueue = (queue: Queue): queue is RegularQueue => queue !== 'quarantine'

export type PlatformKind =
  | `${'update' | 'expire'}-${Platform}`
  | `message-${MessagedPlatform}`
  | `message-${MessagedPlatform}-broadcast`

/** The queue of a kind of job, and the priorities of its jobs: the first for a single job, the last for a bulk job. */
interface KindQueue {
  queue: RegularQueue
  priorities: readonly [Priority, ...Priority[]]
}

const single = ['interactive'] as const
const singleOrBulk = ['interactive', 'bulk'] as const

/**
 * The kinds of jobs of each platform. Jobs for Apple have their own queue, because they push to hundreds of devices
 * together. Jobs for other platforms make one rate-limited request per pass.
 */
const platformKinds = Object.fromEntries(
  platforms.flatMap((platform): [PlatformKind, KindQueue][] => {
    const queue = platform === 'apple' ? 'pushes' : 'google'
    const kinds: [PlatformKind, KindQueue][] = [
      [`update-${platform}`, { queue, priorities: singleOrBulk }],
      [`expire-${platform}`, { queue, priorities: single }],
    ]
    if (platform === 'apple') return kinds
    return [
      ...kinds,
      [`message-${platform}`, { queue, priorities: ['urgent'] }],
      [`message-${platform}-broadcast`, { queue, priorities: ['bulk'] }],
    ]
  }),
) as Record<PlatformKind, KindQueue>

export const kinds = {
  ...platformKinds,
  'send-notification': { queue: 'pushes', priorities: ['urgent'] },
  'issue-pass': { queue: 'issuing', priorities: singleOrBulk },
  'upsert-google-class': { queue: 'google', priorities: single },
  'fan-out-broadcast': { queue: 'database', priorities: ['bulk'] },
  'send-broadcast-notification': { queue: 'pushes', priorities: ['bulk'] },
  'fan-out-events': { queue: 'database', priorities: single },
  'deliver-webhooks': { queue: 'webhooks', priorities: single },
  'upgrade-passes': { queue: 'database', priorities: ['bulk'] },
  'detach-project': { queue: 'database', priorities: ['bulk'] },
  'process-join': { queue: 'database', priorities: single },
  'send-join-link': { queue: 'mail', priorities: single },
} as const satisfies Record<string, KindQueue>
/** The kind of a job, which determines its queue and its handler (server/background/job-handlers.ts). */
export type JobKind = keyof typeof kinds
export const jobKinds = Object.keys(kinds) as JobKind[]

export interface QueuePlace {
  queue: RegularQueue
  priority: Priority
}

export const queuePlaces: readonly QueuePlace[] = jobKinds
  .flatMap((kind) => kinds[kind].priorities.map((priority) => ({ queue: kinds[kind].queue, priority })))
  .filter((place, index, all) => all.findIndex((other) => isSamePlace(other, place)) === index)

export type DuePlace = QueuePlace | 'quarantine'

export type OnDue = (place: DuePlace) => void

/** Returns the place of a job, one of `queuePlaces`. */
export function placeOf({ kind, isBulk = false }: { kind: JobKind; isBulk?: boolean | undefined }): QueuePlace {
  const { queue, priorities }: KindQueue = kinds[kind]
  const priority = isBulk ? priorities.at(-1)! : priorities[0]
  return queuePlaces.find((place) => isSamePlace(place, { queue, priority }))!
}

export function isSamePlace(one: QueuePlace, other: QueuePlace): boolean {
  return one.queue === other.queue && one.priority === other.priority
}
