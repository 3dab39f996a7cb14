import { describe, expect, test } from 'vitest'
import { DeliveryState, type NotificationStatus } from '../../../../src/core/contract/messages/notifications.ts'
import { deliveryStatus, notificationStatus } from '../../../../src/core/rules/sending/notification.ts'

/**
 * The overall status of a notification for each pair of states. Rows are Apple's states, and columns Google's, in the order
 * PENDING, SENT, FAILED, SKIPPED.
 */
const table: Record<DeliveryState, NotificationStatus[]> = {
  PENDING: ['PENDING', 'PENDING', 'PENDING', 'PENDING'],
  SENT: ['PENDING', 'SENT', 'PARTIAL', 'SENT'],
  FAILED: ['PENDING', 'PARTIAL', 'FAILED', 'FAILED'],
  SKIPPED: ['PENDING', 'SENT', 'FAILED', 'SKIPPED'],
}
const states = DeliveryState.options
const pairs = states.flatMap((apple) => states.map((google, n) => ({ apple, google, status: table[apple][n]! })))
const at = new Date('2026-05-01T12:00:00Z')
const before = new Date(at.getTime() - 1)
const after = new Date(at.getTime() + 1)

describe.each(pairs)('apple $apple and google $google', ({ apple, google, status }) => {
  test(`become ${status}, also if their time has come`, () => {
    expect(deliveryStatus([apple, google])).toBe(status)
    for (const sendAt of [null, before, at]) {
      for (const startedAt of [null, before]) {
        expect(notificationStatus({ sendAt, startedAt, states: [apple, google] }, at)).toBe(status)
      }
    }
  })

  test('are SCHEDULED until their time, unless sending has started', () => {
    expect(notificationStatus({ sendAt: after, startedAt: null, states: [apple, google] }, at)).toBe('SCHEDULED')
  })

  test('are never SCHEDULED again, even when the clock goes back', () => {
    expect(notificationStatus({ sendAt: after, startedAt: at, states: [apple, google] }, at)).toBe(status)
  })
})
