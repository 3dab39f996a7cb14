import { type MessagedPlatform, type Platform, platforms } from '../../core/contract/platform.ts'

/** Queues of the outbox that are worked off side by side: what is slow or much in one never holds up another. */
export const regularQueues = [
  'urgent',
  'urgent-google',
  'issuing',
  'wallets',
  'google',
  'events',
  'webhooks',
  'fan-out',
  'bulk',
  'bulk-google',
  'bulk-issuing',
  'bulk-wallets',
  'maintenance',
] as const
/** A queue of jobs whose lease never ended under a worker. */
export type RegularQueue = (typeof regularQueues)[number]

/**
 * The queues that jobs are claimed from. `quarantine` has the jobs of every queue whose lease ended under a worker: one of
 * them may be the cause, so each process runs one of them at a time.
 */
export const queues = [...regularQueues, 'quarantine'] as const
/** The name of a queue. */
export type Queue = (typeof queues)[number]
/** Tells what hands out the jobs of a queue from the workspaces beside it. */
export const isQueue = (name: string): name is Queue => (queues as readonly string[]).includes(name)
/** Whether a queue is a regular one, not the one for jobs whose lease ended under a worker. */
export const isRegularQueue = (queue: Queue): queue is RegularQueue => queue !== 'quarantine'

/** A kind of job that each platform has. */
export type PlatformKind =
  | `${'update' | 'expire'}-${Platform}`
  | `message-${MessagedPlatform}`
  | `message-${MessagedPlatform}-broadcast`

interface KindQueues {
  queue: RegularQueue
  /** The queue of jobs that come by the hundred and that no person waits for. */
  bulkQueue?: RegularQueue
}

/** Devices are pushed by the hundred; the other platforms take a paced request for each pass. */
const platformKinds = Object.fromEntries(
  platforms.flatMap((platform): [PlatformKind, KindQueues][] =>
    platform === 'apple'
      ? [
          [`update-${platform}`, { queue: 'wallets', bulkQueue: 'bulk-wallets' }],
          [`expire-${platform}`, { queue: 'wallets' }],
        ]
      : [
          [`update-${platform}`, { queue: 'google', bulkQueue: 'bulk-google' }],
          [`expire-${platform}`, { queue: 'google' }],
          [`message-${platform}`, { queue: 'urgent-google' }],
          [`message-${platform}-broadcast`, { queue: 'bulk-google' }],
        ],
  ),
) as Record<PlatformKind, KindQueues>

/** Kinds of work with their queues. */
export const kinds = {
  ...platformKinds,
  'send-notification': { queue: 'urgent' },
  'issue-pass': { queue: 'issuing', bulkQueue: 'bulk-issuing' },
  'upsert-google-class': { queue: 'google' },
  'fan-out-broadcast': { queue: 'fan-out' },
  'send-broadcast-notification': { queue: 'bulk' },
  'fan-out-events': { queue: 'events' },
  'deliver-webhooks': { queue: 'webhooks' },
  'detach-project': { queue: 'maintenance' },
} as const satisfies Record<string, KindQueues>
/** The kind of a job, which says its queue and its handler (server/background/job-handlers.ts). */
export type JobKind = keyof typeof kinds
/** Every kind of job. */
export const jobKinds = Object.keys(kinds) as JobKind[]
