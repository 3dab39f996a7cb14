import { type Platform, platforms } from '../../core/contract/schemas/platform.ts'
import type { Card } from '../../core/rules/display/card.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Repositories } from '../../storage/store.ts'
import { emitHoldings } from '../wallet-sync/holders.ts'
import { apple, appleSetup } from './apple-delivery.ts'
import type { Delivery } from './delivery.ts'
import { google, googleSetup } from './google-delivery.ts'

export const deliveries: Record<Platform, Delivery> = { apple, google }

export const setups = { apple: appleSetup, google: googleSetup } satisfies Record<Platform, unknown>

/**
 * Ends the pass in the wallets of its former holder. Call it in the transaction of the transfer, which locks the pass.
 * @param pass the pass before the transfer, with the card that it showed
 */
export async function endFormer(
  tx: Repositories,
  pass: StoredPass,
  { card, now, correlationId }: { card: Card; now: Date; correlationId: string | null },
): Promise<void> {
  const { workspaceId, id: subject } = pass
  const ended: Platform[] = []
  for (const platform of platforms) if (await deliveries[platform].end(tx, pass, card, now)) ended.push(platform)
  for (const platform of ended) {
    await tx.jobs.insertOnce([{ workspaceId, kind: `expire-${platform}`, subject, correlationId }], now)
  }
  if (ended.length > 0) await emitHoldings(tx, workspaceId, [subject], { at: now, correlationId })
}
