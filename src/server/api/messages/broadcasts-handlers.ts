import {
  Broadcast,
  type BroadcastCreate,
  type BroadcastForecast,
  type BroadcastStatus,
  type broadcasts as contract,
} from '../../../core/contract/messages/broadcasts.ts'
import type { MessageCreate } from '../../../core/contract/messages/notifications.ts'
import { secondsAtPace } from '../../../core/contract/schemas/platform.ts'
import { ApiError, validationError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { StoredBroadcast } from '../../../storage/messages/broadcasts-repository.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { RequestContext } from '../../context.ts'
import type { Handlers } from '../../http/mount.ts'
import { Reply, toBody, toPage } from '../../http/responses.ts'
import { audit } from '../audit.ts'
import { requireUnderLimit } from '../limit-checks.ts'
import { holdProject, requireProject } from '../token-projects.ts'
import { type Created, createOnce, findKnown, parseMessage, requireLanguages } from './message.ts'

const CLASS_ERRORS = 10

export const broadcasts: Handlers<typeof contract> = {
  create: async ({ params, query, body }, context) => {
    const { store, workspaceId, now } = context
    if (query.dryRun) {
      const known = await findKnown(store.broadcasts, workspaceId, body)
      return known ? toBroadcast(known, now) : await forecast(params.id, body, context)
    }
    const { row, isNew } = await createOnce(store.broadcasts, body, context, async () => {
      // Check before the transaction. In the transaction, this check would delay other writers, because it reads all
      // versions of the project.
      await requireLanguagesOfProject(params.id, body, context)
      await requireWholeClasses(params.id, body, context)
      return store.transaction((tx) => insert(tx, params.id, body, context))
    })
    return new Reply(isNew ? 201 : 200, toBroadcast(row, now))
  },

  list: async ({ params, query }, { store, workspaceId, now }) => {
    await requireProject(store, workspaceId, params.id)
    const page = await store.broadcasts.list(workspaceId, params.id, query)
    return toPage(page, (broadcast) => toBroadcast(broadcast, now))
  },

  get: async ({ params }, context) => {
    return toBroadcast(await get(params.id, params.broadcastId, context), context.now)
  },

  stats: async ({ params }, context) => {
    const broadcast = await get(params.id, params.broadcastId, context)
    const { store, workspaceId, now } = context
    const [counts, classErrors] = await Promise.all([
      store.broadcasts.countByStatus(workspaceId, broadcast.id),
      store.broadcastClasses.listErrors(workspaceId, broadcast.id, CLASS_ERRORS),
    ])
    return { broadcastId: broadcast.id, status: statusOf(broadcast, now), ...counts, classErrors }
  },

  cancel: async ({ params }, context) => {
    const { store, workspaceId, now } = context
    const { id: projectId, broadcastId } = params
    await requireProject(store, workspaceId, projectId)
    await store.transaction(async (tx) => {
      if (await tx.broadcasts.deleteScheduled(workspaceId, projectId, broadcastId, now)) {
        await tx.jobs.deleteWaiting('fan-out-broadcast', broadcastId)
        await audit(tx, context, 'broadcast.cancel', broadcastId)
        return
      }
      if (!(await tx.broadcasts.find(workspaceId, projectId, broadcastId))) missing(broadcastId)
      throw new ApiError('PASS_NOTIFICATION_BROADCAST_ALREADY_DISPATCHED', { details: { broadcastId } })
    })
  },
}

async function insert(
  tx: Repositories,
  projectId: string,
  body: BroadcastCreate,
  context: RequestContext,
): Promise<Created<StoredBroadcast> | undefined> {
  const { workspaceId, now, correlationId, services } = context
  await holdProject(tx, workspaceId, projectId)
  const id = newId(now)
  const message = parseMessage(body, services.wallets, now)
  if (message.sendAt && !(await findKnown(tx.broadcasts, workspaceId, body))) {
    await requireUnderLimit(tx, context, 'scheduledSends', () => tx.usage.countScheduled(workspaceId, now))
  }
  const { googleVia, filter } = body
  const isNew = await tx.broadcasts.insert(workspaceId, { id, projectId, googleVia, filter, ...message }, now)
  if (!isNew) return undefined
  const job = { workspaceId, kind: 'fan-out-broadcast' as const, subject: id, correlationId }
  await tx.jobs.insert([{ ...job, runAt: message.sendAt ?? now }], now)
  await audit(tx, context, 'broadcast.create', id)
  return { row: (await tx.broadcasts.find(workspaceId, projectId, id))!, isNew: true }
}

function requireLanguagesOfProject(
  projectId: string,
  body: MessageCreate,
  { store, workspaceId }: RequestContext,
): Promise<void> {
  return requireLanguages(body, async () => {
    await requireProject(store, workspaceId, projectId)
    return store.templateVersions.listLanguagesOfProject(workspaceId, projectId)
  })
}

async function requireWholeClasses(
  projectId: string,
  body: BroadcastCreate,
  { store, workspaceId, services, now }: RequestContext,
): Promise<void> {
  if (body.googleVia !== 'class') return
  const googleViaError = (message: string) => validationError([{ path: ['googleVia'], message }])
  if (body.filter)
    throw googleViaError('Must be "object" if a filter is given: a class message reaches all holders of a class.')
  if (!parseMessage(body, services.wallets, now).platforms.includes('google'))
    throw googleViaError('Requires "google" in platforms.')
  await requireProject(store, workspaceId, projectId)
  if (await store.broadcasts.sharesClasses(workspaceId, projectId)) {
    throw googleViaError(
      'Must be "object": passes of other projects use the same Google classes, and would show the message, too.',
    )
  }
}

async function forecast(projectId: string, body: BroadcastCreate, context: RequestContext): Promise<BroadcastForecast> {
  const { store, workspaceId, services, now } = context
  await requireProject(store, workspaceId, projectId)
  await requireLanguagesOfProject(projectId, body, context)
  await requireWholeClasses(projectId, body, context)
  const { platforms, sendAt } = parseMessage(body, services.wallets, now)
  const reached = await store.broadcasts.forecast(workspaceId, projectId, { filter: body.filter, at: sendAt ?? now })
  const { passCount, apple, overCap } = reached
  const byClass =
    body.googleVia === 'class'
      ? await store.broadcasts.forecastClasses(workspaceId, projectId, sendAt ?? now)
      : { messages: [], others: 0 }
  const requests = body.googleVia === 'class' ? byClass.messages : reached.google
  const isTargeted = { apple: platforms.includes('apple'), google: platforms.includes('google') }
  return {
    dryRun: true,
    projectId,
    platforms,
    sendAt: sendAt?.toISOString() ?? null,
    passCount,
    ...(body.filter && { reach: { apple, google: total(reached.google), neither: reached.neither } }),
    apple: { passCount: isTargeted.apple ? apple : 0 },
    google: isTargeted.google
      ? {
          passCount: total(reached.google),
          classes: total(byClass.messages),
          others: byClass.others,
          overCap,
          // Sends of different issuers run in parallel, so the issuer with the most requests determines the time.
          seconds: secondsAtPace(Math.max(0, ...requests)),
        }
      : { passCount: 0, classes: 0, others: 0, overCap: 0, seconds: 0 },
  }
}

function total(counts: number[]): number {
  return counts.reduce((sum, n) => sum + n, 0)
}

async function get(projectId: string, broadcastId: string, context: RequestContext): Promise<StoredBroadcast> {
  await requireProject(context.store, context.workspaceId, projectId)
  return (await context.store.broadcasts.find(context.workspaceId, projectId, broadcastId)) ?? missing(broadcastId)
}

function missing(broadcastId: string): never {
  throw new ApiError('PASS_NOTIFICATION_BROADCAST_NOT_FOUND', { details: { broadcastId } })
}

function toBroadcast(broadcast: StoredBroadcast, now: Date): Broadcast {
  return toBody(Broadcast, {
    ...broadcast,
    filter: broadcast.filter ?? undefined,
    status: statusOf(broadcast, now),
    passCount: broadcast.dispatchedAt === null ? null : broadcast.fannedOut,
  })
}

function statusOf({ sendAt, startedAt, dispatchedAt }: StoredBroadcast, now: Date): BroadcastStatus {
  if (dispatchedAt !== null) return 'DISPATCHED'
  return startedAt === null && sendAt !== null && sendAt > now ? 'SCHEDULED' : 'PENDING'
}
