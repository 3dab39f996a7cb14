import { type Platform, platforms } from '../../core/contract/platform.ts'
import type { JobKind, PlatformKind, RegularQueue } from '../../storage/jobs/job-kinds.ts'
import type { QueueOptions } from '../jobs/queue-options.ts'
import type { GiveUp, JobHandler } from '../jobs/worker.ts'
import { fanOutBroadcasts } from '../messages/fan-out-broadcast.ts'
import { failNotification, sendNotifications } from '../messages/send-notification.ts'
import { deliveries } from '../platforms/deliveries.ts'
import { failPass, issuePasses } from '../wallet-sync/issue-pass.ts'
import { upsertGoogleClasses } from '../wallet-sync/update-wallets.ts'
import { deliverWebhooks, fanOutEvents } from '../webhooks/deliver-webhooks.ts'
import { detachProjects } from './maintenance.ts'

const ofPlatforms = Object.fromEntries(
  platforms.flatMap((platform) => {
    const { update, expire, message } = deliveries[platform]
    return [
      [`update-${platform}`, update],
      [`expire-${platform}`, expire],
      ...messageKinds(platform).map((kind) => [kind, message]),
    ]
  }),
) as Record<PlatformKind, JobHandler>

/** What each kind of job does. */
export const jobHandlers: Record<JobKind, JobHandler> = {
  ...ofPlatforms,
  'send-notification': sendNotifications,
  'issue-pass': issuePasses,
  'upsert-google-class': upsertGoogleClasses,
  'fan-out-broadcast': fanOutBroadcasts,
  'send-broadcast-notification': sendNotifications,
  'fan-out-events': fanOutEvents,
  'deliver-webhooks': deliverWebhooks,
  'detach-project': detachProjects,
}

/** What is left to write when a job failed for the last time. */
export const giveUp: Partial<Record<JobKind, GiveUp>> = {
  'issue-pass': failPass,
  'send-notification': failNotification,
  'send-broadcast-notification': failNotification,
  ...Object.fromEntries(
    platforms.flatMap((platform) => messageKinds(platform).map((kind) => [kind, deliveries[platform].failMessage])),
  ),
}

function messageKinds(platform: Platform): string[] {
  return deliveries[platform].message ? [`message-${platform}`, `message-${platform}-broadcast`] : []
}

/**
 * How much of each queue is in flight at once; one workspace alone has half of the batches, rounded up. A batch that fails to
 * reach a provider must not idle its whole queue.
 */
export const queueOptions: Record<RegularQueue, QueueOptions> = {
  urgent: { batchSize: 20, batches: 7 },
  'urgent-google': { batchSize: 10, batches: 7 },
  // Small, so that one that somebody waits for gets in between.
  issuing: { batchSize: 25, batches: 7 },
  'bulk-issuing': { batchSize: 100, batches: 7 },
  wallets: { batchSize: 250, batches: 7 },
  'bulk-wallets': { batchSize: 250, batches: 7 },
  // As many requests as Google may have from us at once; the outbox is the queue.
  google: { batchSize: 2, batches: 7 },
  'fan-out': { batchSize: 1, batches: 3, isLocal: true },
  bulk: { batchSize: 100, batches: 3 },
  // Few at once: an urgent request stands behind those that are under way.
  'bulk-google': { batchSize: 5, batches: 3 },
  // One workspace each.
  events: { batchSize: 1, batches: 7, isLocal: true },
  // One endpoint each: those that hang must leave room for the others.
  webhooks: { batchSize: 1, batches: 255 },
  maintenance: { batchSize: 10, batches: 2, isLocal: true },
}

/** Queues of broadcasts and of passes that change by the hundred, whose jobs tell iPhones of a pass each. */
export const pushingByTheHundred = ['bulk', 'bulk-wallets'] as const satisfies RegularQueue[]
