import type { Broadcast, BroadcastForecast, BroadcastStats } from '../../core/contract/broadcasts.ts'
import type { Notification } from '../../core/contract/notifications.ts'
import { count, details, localTime, localTimeOr } from '../command/output.ts'

export function showNotification(notification: Notification): string {
  const { apple, google } = notification
  const devices = apple.deviceCount === 1 ? '1 device' : `${count(apple.deviceCount)} devices`
  return details([
    ['Notification', notification.id],
    ['Pass', notification.passId],
    ['Message', notification.body],
    ['Status', notification.status],
    ['Send at', localTimeOr(notification.sendAt, null)],
    ['Apple', [apple.status, apple.deviceCount > 0 && devices, apple.error].filter(Boolean).join(', ')],
    ['Google', [google.status, google.error].filter(Boolean).join(', ')],
  ])
}

export function showBroadcast(broadcast: Broadcast, stats?: BroadcastStats): string {
  return details([
    ['Broadcast', broadcast.id],
    ['Project', broadcast.projectId],
    ['Message', broadcast.body],
    ['Platforms', broadcast.platforms.join(', ')],
    ['Status', broadcast.status],
    ['Send at', localTimeOr(broadcast.sendAt, null)],
    ['Passes', broadcast.passCount === null ? null : count(broadcast.passCount)],
    ['Notifications', stats ? describeStats(stats) : null],
    ['Created', localTime(broadcast.createdAt)],
  ])
}

export function showForecast({ passCount, platforms, sendAt, apple, google }: BroadcastForecast): string {
  const isTargeted = (platform: 'apple' | 'google') => platforms.includes(platform)
  return details([
    ['Passes', `${count(passCount)} issued`],
    ['Send at', localTimeOr(sendAt, 'at once')],
    ['Apple', isTargeted('apple') ? `${count(apple.passCount)} on a device` : 'not targeted'],
    ['Google', isTargeted('google') ? `${count(google.passCount)} installed` : 'not targeted'],
    ['Over the google cap', isTargeted('google') ? `${count(google.overCap)} (3 in 24 hours are used up)` : null],
  ])
}

/** One line that says how far the notifications have come. */
export function describeStats({ fannedOut, pending, sent, partial, failed, skipped }: BroadcastStats): string {
  const parts = { 'fanned out': fannedOut, sent, partial, failed, skipped, pending }
  return Object.entries(parts)
    .map(([name, n]) => `${count(n)} ${name}`)
    .join(', ')
}
