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
 * Where jobs are claimed from: the queues, and beside them two for the jobs of every queue whose lease ended under a worker.
 * One of those may be what stops workers. `suspects` lapsed once, and are kept apart from those that never did;
 * `prime-suspects` lapsed more often, and are run with nothing beside them.
 */
export const queues = [...regularQueues, 'suspects', 'prime-suspects'] as const
/** Where a job is claimed from. */
export type Queue = (typeof queues)[number]
/** Tells what hands out the jobs of a queue from the workspaces beside it. */
export const isQueue = (name: string): name is Queue => (queues as readonly string[]).includes(name)
/** Whether a queue is a regular one, not one for jobs whose lease ended under a worker. */
export const isRegularQueue = (queue: Queue): queue is RegularQueue =>
  (regularQueues as readonly Queue[]).includes(queue)

/** Kinds of work with the queue of each, and the queue of those that come by the hundred and that no person waits for. */
export const kinds = {
  'send-notification': { queue: 'urgent' },
  'message-google': { queue: 'urgent-google' },
  'issue-pass': { queue: 'issuing', bulkQueue: 'bulk-issuing' },
  'update-apple': { queue: 'wallets', bulkQueue: 'bulk-wallets' },
  'update-google': { queue: 'google', bulkQueue: 'bulk-google' },
  'upsert-google-class': { queue: 'google' },
  'expire-apple': { queue: 'wallets' },
  'expire-google': { queue: 'google' },
  'fan-out-broadcast': { queue: 'fan-out' },
  'send-broadcast-notification': { queue: 'bulk' },
  'message-google-broadcast': { queue: 'bulk-google' },
  'fan-out-events': { queue: 'events' },
  'deliver-webhooks': { queue: 'webhooks' },
  'detach-project': { queue: 'maintenance' },
} as const satisfies Record<string, { queue: RegularQueue; bulkQueue?: RegularQueue }>
/** The kind of a job, which says its queue and its handler (server/jobs/handlers.ts). */
export type JobKind = keyof typeof kinds
/** Every kind of job. */
export const jobKinds = Object.keys(kinds) as JobKind[]
