import type { Definition } from '../../../core/contract/schemas/definition.ts'
import { CAPPED_PLATFORM } from '../../../core/contract/schemas/platform.ts'
import { newId } from '../../../core/ids.ts'
import { type Card, renderCard } from '../../../core/rules/display/card.ts'
import { effectiveStatus } from '../../../core/rules/pass/pass-status.ts'
import { announcementOf, exceedsCap } from '../../../core/rules/sending/notification.ts'
import { inLanguage, otherLanguages, type WrittenText } from '../../../core/rules/template/definition-languages.ts'
import { buildScope } from '../../../core/rules/template/resolve.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { RequestContext } from '../../context.ts'
import type { VersionContent } from '../../wallet-sync/definitions.ts'

interface Shown {
  pass: StoredPass
  version: VersionContent
}

export interface Change {
  before: Shown
  after: Shown
}

/**
 * Returns the text that makes Android phones ring for a change; iPhones announce the change automatically. Returns
 * undefined if there is nothing to announce, no holder has the pass in the wallet of CAPPED_PLATFORM, or the pass has
 * reached its cap for 24 hours. SKIPPED notifications count toward the cap of API notifications, but not here.
 */
export async function findAndroidAlert(
  tx: Repositories,
  change: Change,
  { workspaceId, services, now }: RequestContext,
): Promise<WrittenText | undefined> {
  const { pass } = change.after
  if (!services.wallets[CAPPED_PLATFORM] || effectiveStatus(pass, now) !== 'ISSUED') return undefined
  const holders = await tx.heldPasses.findInstalled(workspaceId, [pass.id])
  if (holders[CAPPED_PLATFORM].length === 0) return undefined
  const text = announcementInLanguages(change)
  if (text === undefined) return undefined
  const places = await tx.notifications.listPlaces(workspaceId, [pass.id], now)
  const sends = places.filter(({ isSkipped }) => !isSkipped).map(({ dueAt }) => dueAt)
  return exceedsCap(sends, now) ? undefined : text
}

/** Queues the text as a notification to CAPPED_PLATFORM only, because iPhones announce the change automatically. */
export async function queueAndroidAlert(
  tx: Repositories,
  passId: string,
  body: WrittenText,
  { workspaceId, now, correlationId }: RequestContext,
): Promise<void> {
  const id = newId(now)
  const message = { body, options: {}, platforms: [CAPPED_PLATFORM], sendAt: null, idempotencyKey: null }
  await tx.notifications.insert(workspaceId, { id, passId, ...message }, now)
  await tx.jobs.insert([{ workspaceId, kind: 'send-notification', subject: id, correlationId }], now)
}

export function cardOf(
  { pass, version: { definition, passType } }: Shown,
  inItsLanguage: Definition = definition,
): Card {
  const scope = buildScope(definition, pass, pass.expiresAt)
  return renderCard({ definition: inItsLanguage, passType, scope, expiresAt: pass.expiresAt, voided: false })
}

function announcementInLanguages({ before, after }: Change): WrittenText | undefined {
  const text = announcementOf(cardOf(before), cardOf(after))
  const { definition } = after.version
  if (text === undefined || !definition.languages) return text
  const others = otherLanguages(definition).flatMap((shown) => {
    const card = cardOf(after, shown)
    const other = announcementOf(cardOf(before, inLanguage(before.version.definition, card.language)), card)
    return other === undefined || other === text ? [] : [[card.language!, other] as const]
  })
  if (others.length === 0) return text
  return Object.fromEntries([[definition.languages.default, text], ...others]) as WrittenText
}
