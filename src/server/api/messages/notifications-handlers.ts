import {
  type notifications as contract,
  type MessageCreate,
  Notification,
} from '../../../core/contract/messages/notifications.ts'
import { byPlatform, CAPPED_PLATFORM, platforms } from '../../../core/contract/schemas/platform.ts'
import { ApiError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { effectiveStatus } from '../../../core/rules/pass/pass-status.ts'
import { capDelaySeconds, notificationStatus } from '../../../core/rules/sending/notification.ts'
import type { StoredNotification } from '../../../storage/messages/notification-row.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { RequestContext } from '../../context.ts'
import type { Handlers } from '../../http/mount.ts'
import { Reply, toBody, toPage } from '../../http/responses.ts'
import { audit } from '../audit.ts'
import { requireUnderLimit } from '../limit-checks.ts'
import { noPass, requirePass } from '../passes/require-pass.ts'
import { type Created, createOnce, findKnown, parseMessage, requireLanguages } from './message.ts'

export const notifications: Handlers<typeof contract> = {
  create: async ({ params, body }, context) => {
    const { store } = context
    const insertOne = () => store.transaction((tx) => insert(tx, params.id, body, context))
    const { row, isNew } = await createOnce(store.notifications, body, context, insertOne)
    return new Reply(isNew ? 201 : 200, toNotification(row, context.now))
  },

  list: async ({ params, query }, context) => {
    const { store, workspaceId, now } = context
    await requirePass(params.id, context)
    const page = await store.notifications.list(workspaceId, params.id, query)
    return toPage(page, (notification) => toNotification(notification, now))
  },

  get: async ({ params }, context) => {
    const { store, workspaceId, now } = context
    await requirePass(params.id, context)
    const notification = await store.notifications.find(workspaceId, params.id, params.notificationId)
    return toNotification(notification ?? missing(params.notificationId), now)
  },

  cancel: async ({ params }, context) => {
    const { store, workspaceId, now } = context
    const { id: passId, notificationId } = params
    await requirePass(passId, context)
    await store.transaction(async (tx) => {
      if (await tx.notifications.deleteScheduled(workspaceId, passId, notificationId, now)) {
        await tx.jobs.deleteWaiting('send-notification', notificationId)
        await audit(tx, context, 'notification.cancel', notificationId, { passId })
        return
      }
      if (!(await tx.notifications.find(workspaceId, passId, notificationId))) missing(notificationId)
      throw new ApiError('PASS_NOTIFICATION_ALREADY_SENT', { details: { notificationId } })
    })
  },
}

async function insert(
  tx: Repositories,
  passId: string,
  body: MessageCreate,
  context: RequestContext,
): Promise<Created<StoredNotification> | undefined> {
  const { workspaceId, now, correlationId, services } = context
  const pass = await tx.passes.findForUpdate(workspaceId, passId)
  const known = await findKnown(tx.notifications, workspaceId, body)
  if (known) return { row: known, isNew: false }
  if (!pass) throw noPass(passId)
  const status = effectiveStatus(pass, now)
  if (status !== 'ISSUED') throw new ApiError('PASS_NOT_ISSUED', { details: { passId, status } })
  await requireLanguages(body, async () => {
    const definition = await services.definitions.find(workspaceId, pass.templateVersionId)
    return definition?.languages ? [definition.languages] : []
  })
  const message = parseMessage(body, services.wallets, now)
  if (message.platforms.includes(CAPPED_PLATFORM)) {
    await requirePlace(tx, workspaceId, passId, message.sendAt ?? now)
  }
  if (message.sendAt) {
    await requireUnderLimit(tx, context, 'scheduledSends', () => tx.usage.countScheduled(workspaceId, now))
  }
  const id = newId(now)
  if (!(await tx.notifications.insert(workspaceId, { id, passId, ...message }, now))) return undefined
  const job = { workspaceId, kind: 'send-notification' as const, subject: id, correlationId }
  await tx.jobs.insert([{ ...job, runAt: message.sendAt ?? now }], now)
  await audit(tx, context, 'notification.create', id, { passId })
  return { row: (await tx.notifications.find(workspaceId, passId, id))!, isNew: true }
}

async function requirePlace(tx: Repositories, workspaceId: string, passId: string, dueAt: Date): Promise<void> {
  const places = await tx.notifications.listPlaces(workspaceId, [passId], dueAt)
  const dueTimes = places.map((place) => place.dueAt)
  const seconds = capDelaySeconds(dueTimes, dueAt)
  if (seconds === 0) return
  throw new ApiError('PASS_NOTIFICATION_RATE_LIMITED', {
    message: `The pass already has 3 ${CAPPED_PLATFORM} notifications within 24 hours, including SKIPPED ones. Send this one ${seconds} s later.`,
    details: { passId, retryAfterSeconds: seconds },
    headers: { 'retry-after': String(seconds) },
  })
}

function missing(notificationId: string): never {
  throw new ApiError('PASS_NOTIFICATION_NOT_FOUND', { details: { notificationId } })
}

function toNotification(notification: StoredNotification, now: Date): Notification {
  const { broadcastId, deviceCount } = notification
  const shown = byPlatform((platform) => {
    const { status, error } = notification[platform]
    return { status, ...(error !== null && { error }) }
  })
  const states = platforms.map((platform) => notification[platform].status)
  return toBody(Notification, {
    ...notification,
    broadcastId: broadcastId ?? undefined,
    status: notificationStatus({ ...notification, states }, now),
    ...shown,
    apple: { ...shown.apple, deviceCount },
  })
}
