/** Queues of the outbox that are worked off side by side: what is slow or much in one never holds up another. */
export const lanes = [
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
  'upkeep',
] as const
export type Lane = (typeof lanes)[number]

/**
 * Where jobs are claimed from: the lanes, and beside them two for the jobs of every lane whose lease ended under a worker.
 * One of those may be what stops workers. `suspects` lapsed once, and are kept apart from those that never did;
 * `prime-suspects` lapsed more often, and are run with nothing beside them.
 */
export const queues = [...lanes, 'suspects', 'prime-suspects'] as const
export type Queue = (typeof queues)[number]
export const isLane = (queue: Queue): queue is Lane => (lanes as readonly Queue[]).includes(queue)

/** Kinds of work with the lane of each, and the lane of those that come by the hundred and that no person waits for. */
export const kinds = {
  'send-notification': { lane: 'urgent' },
  'message-google': { lane: 'urgent-google' },
  'issue-pass': { lane: 'issuing', bulkLane: 'bulk-issuing' },
  'update-wallet': { lane: 'wallets', bulkLane: 'bulk-wallets' },
  'update-google': { lane: 'google', bulkLane: 'bulk-google' },
  'upsert-google-class': { lane: 'google' },
  'fan-out-broadcast': { lane: 'fan-out' },
  'send-broadcast': { lane: 'bulk' },
  'message-google-broadcast': { lane: 'bulk-google' },
  'fan-out-events': { lane: 'events' },
  'deliver-webhooks': { lane: 'webhooks' },
  'detach-project': { lane: 'upkeep' },
} as const satisfies Record<string, { lane: Lane; bulkLane?: Lane }>
export type JobKind = keyof typeof kinds
export const jobKinds = Object.keys(kinds) as JobKind[]
