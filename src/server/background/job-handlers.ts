import { type Platform, platforms } from '../../core/contract/schemas/platform.ts'
import type { JobKind, PlatformKind } from '../../storage/jobs/job-kinds.ts'
import type { WorkerQueues } from '../jobs/queue-options.ts'
import type { JobHandler, OnDiscard } from '../jobs/worker.ts'
import { processJoins, releasePlace } from '../join/process-joins.ts'
import { sendJoinLinks } from '../join/send-join-links.ts'
import { fanOutBroadcasts } from '../messages/fan-out-broadcast.ts'
import { failNotification, sendNotifications } from '../messages/send-notification.ts'
import { upgradePasses } from '../pass-content/upgrade-passes.ts'
import { deliveries } from '../platforms/deliveries.ts'
import { failPass, issuePasses } from '../wallet-sync/issue-pass.ts'
import { upsertGoogleClasses } from '../wallet-sync/update-google.ts'
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

export const jobHandlers: Record<JobKind, JobHandler> = {
  ...ofPlatforms,
  'send-notification': sendNotifications,
  'issue-pass': issuePasses,
  'upsert-google-class': upsertGoogleClasses,
  'fan-out-broadcast': fanOutBroadcasts,
  'send-broadcast-notification': sendNotifications,
  'fan-out-events': fanOutEvents,
  'deliver-webhooks': deliverWebhooks,
  'upgrade-passes': upgradePasses,
  'detach-project': detachProjects,
  'process-join': processJoins,
  'send-join-link': sendJoinLinks,
}

export const onDiscard: Partial<Record<JobKind, OnDiscard>> = {
  'issue-pass': failPass,
  'process-join': releasePlace,
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
 * The maximum number of batches in flight and of jobs per batch, by queue and priority. A workspace gets at most half
 * of the batches, rounded up. Otherwise, its batches could hold all slots of a queue while a provider does not respond.
 */
export const queueOptions = {
  issuing: {
    // Large batches would delay the passes of other workspaces.
    interactive: { batchSize: 25, batches: 7 },
    bulk: { batchSize: 100, batches: 7 },
  },
  pushes: {
    urgent: { batchSize: 20, batches: 7 },
    interactive: { batchSize: 250, batches: 7 },
    bulk: { batchSize: 100, batches: 5 },
  },
  google: {
    urgent: { batchSize: 10, batches: 7 },
    // Keep batches small, so that few requests to Google are in flight at a time. All other jobs stay in the outbox.
    interactive: { batchSize: 2, batches: 7 },
    // An urgent request has to wait for the bulk requests in flight, so keep their number low.
    bulk: { batchSize: 5, batches: 3 },
  },
  // Put one webhook in each batch, and allow many batches, so that some batches remain free even if many webhooks hang.
  webhooks: { interactive: { batchSize: 1, batches: 255 } },
  // Run more jobs at once than the mailer has connections, so that a slow address does not delay other emails.
  mail: { interactive: { batchSize: 1, batches: 7 } },
  database: {
    interactive: { batchSize: 1, batches: 7 },
    bulk: { batchSize: 1, batches: 5 },
  },
} satisfies WorkerQueues
