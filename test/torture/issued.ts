import type { Client } from '../../src/client/client.ts'
import type { RedemptionPolicy } from '../../src/core/contract/schemas/redemption.ts'
import { publishTemplate } from '../e2e/support/passes.ts'
import type { Arena } from './arena.ts'

let made = 0

/** Creates an issued pass with a barcode. Resolves to its ID. */
export async function issuedPass(arena: Arena, { passes, ...client }: Client, redemption?: RedemptionPolicy) {
  const templateId = await publishTemplate({ passes, ...client }, redemption)
  made += 1
  const { id } = await passes.create({ body: { externalPassId: `issued-${made}`, label: 'Ada', templateId } })
  await arena.waitUntil('a pass is issued', 30, async () => (await passes.get({ params: { id } })).status === 'ISSUED')
  return id
}
