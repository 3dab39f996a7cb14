import type { DeliveryState, NotificationStatus } from '../../contract/notifications.ts'

export interface NotificationProgress {
  /** Null for one that is sent at once. */
  sendAt: Date | null
  /** When delivery began; null before. */
  startedAt: Date | null
  apple: DeliveryState
  google: DeliveryState
}

/** The overall status (spec 2.5), as it is at a moment: from sendAt on a notification is no longer scheduled. */
export function notificationStatus(progress: NotificationProgress, at: Date): NotificationStatus {
  const { sendAt, startedAt, apple, google } = progress
  if (startedAt === null && sendAt !== null && sendAt > at) return 'SCHEDULED'
  return deliveryStatus(apple, google)
}

/** What the states of the two platforms come to, once delivery may have begun. */
export function deliveryStatus(apple: DeliveryState, google: DeliveryState): Exclude<NotificationStatus, 'SCHEDULED'> {
  if (apple === 'PENDING' || google === 'PENDING') return 'PENDING'
  if (apple === google || google === 'SKIPPED') return apple
  return apple === 'SKIPPED' ? google : 'PARTIAL'
}
