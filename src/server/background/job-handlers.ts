import { type Platform, platforms } from '../../core/contract/platform.ts'
import type { JobKind, PlatformKind } from '../../storage/jobs/job-kinds.ts'
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

/** The handler of each kind of job. */
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

/** Records the failure of a discarded job. */
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
