import { newId } from '../../../core/ids.ts'
import { renderCard } from '../../../core/rules/display/card.ts'
import { effectiveStatus } from '../../../core/rules/pass/pass-status.ts'
import { announcementOf, exceedsCap } from '../../../core/rules/sending/notification.ts'
import { buildScope } from '../../../core/rules/template/resolve.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { PublishedVersion } from '../../../storage/templates/template-versions.ts'
import type { RequestContext } from '../../context.ts'

/** A change of a pass, which the caller holds. */
export interface Change {
  before: StoredPass
  after: StoredPass
  /** The version that the pass renders now. */
  version: PublishedVersion
}

/**
 * The text that makes Android phones ring for a change which iPhones announce by themselves; undefined where there is none:
 * nothing to announce, nobody who has the pass in Google Wallet, or no place under the cap of 24 hours.
 */
export async function findRing(
  tx: Repositories,
  { before, after, version }: Change,
  { workspaceId, wallets, now }: RequestContext,
): Promise<string | undefined> {
  if (!wallets.google || effectiveStatus(after, now) !== 'ISSUED') return undefined
  const [object] = await tx.googleObjects.list(workspaceId, [after.id])
  if (!object?.installedAt) return undefined
  const [earlier = version] =
    before.templateVersionId === version.id
      ? []
      : await tx.templateVersions.listByIds(workspaceId, [before.templateVersionId])
  const text = announcementOf(cardOf(before, earlier), cardOf(after, version))
  if (text === undefined) return undefined
  const places = await tx.notifications.listPlaces(workspaceId, [after.id], now)
  return exceedsCap(
    places.map(({ dueAt }) => dueAt),
    now,
  )
    ? undefined
    : text
}

/** Queues the text as a notification of the pass to Google alone: iPhones have announced the change themselves. */
export async function queueRing(
  tx: Repositories,
  passId: string,
  body: string,
  { workspaceId, now, correlationId }: RequestContext,
): Promise<void> {
  const id = newId(now)
  const message = { body, options: {}, platforms: ['google' as const], sendAt: null, idempotencyKey: null }
  await tx.notifications.insert(workspaceId, { id, passId, ...message }, now)
  await tx.jobs.insert([{ workspaceId, kind: 'send-notification', subject: id, correlationId }], now)
}

function cardOf(pass: StoredPass, { definition, passType }: PublishedVersion) {
  const scope = buildScope(definition.variables, pass, pass.expiresAt)
  return renderCard({ definition, passType, scope, expiresAt: pass.expiresAt, voided: false })
}
