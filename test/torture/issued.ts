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

/** Creates issued passes of a published template. Resolves to their IDs. */
export async function issuedPasses(arena: Arena, { passes }: Client, templateId: string, count: number) {
  const bodies = Array.from({ length: count }, (_, n) => ({ externalPassId: `one-${n}`, label: 'Ada', templateId }))
  const { results } = await passes.createBatch({ body: { passes: bodies } })
  await arena.waitUntil('all passes are issued', 30, async () => {
    const { total } = await passes.list({ query: { templateId: [templateId], status: ['ISSUED'], limit: 1 } })
    return total === count
  })
  return results.map(({ pass }) => pass!.id)
}
