import { BalanceEntry, type balances as contract, type PassBalance } from '../../../core/contract/balances.ts'
import { ApiError } from '../../../core/errors.ts'
import { balanceValue, findBalance, sumOf } from '../../../core/rules/balances/balances.ts'
import type { StoredEntry } from '../../../storage/balances/balance-entries-repository.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { RequestContext } from '../../context.ts'
import type { Handlers } from '../../http/mount.ts'
import { Reply, toBody, toPage } from '../../http/responses.ts'
import { requirePass } from '../passes/require-pass.ts'
import { type AddedEntry, addTogether, noBalance, reverseEntry } from './add-entry.ts'

export const balances: Handlers<typeof contract> = {
  list: async ({ params: { id } }, context) => {
    const pass = await requirePass(id, context)
    return { items: await balancesOf(pass, context) }
  },

  createEntry: async ({ params: { id: passId, name }, body }, context) => {
    const added = await addTogether(context.store, { passId, name, body, context })
    if (added instanceof ApiError) throw added
    return toReply(added)
  },

  listEntries: async ({ params: { id, name }, query }, context) => {
    const { store, workspaceId, services } = context
    const pass = await requirePass(id, context)
    const definition = await services.definitions.find(workspaceId, pass.templateVersionId)
    // Accept a balance with entries, even if the version no longer defines it, so that its entries remain readable.
    const isKnown = (definition && findBalance(definition, name)) || sumOf(pass.balanceSums, name).count > 0
    if (!isKnown) throw noBalance(pass.id, name)
    return toPage(await store.balanceEntries.list(workspaceId, { passId: pass.id, name }, query), toEntry)
  },

  reverseEntry: async ({ params: { id: passId, name, entryId }, body }, context) =>
    toReply(await reverseEntry({ passId, name, entryId, body }, context)),
}

async function balancesOf(pass: StoredPass, { services }: RequestContext): Promise<PassBalance[]> {
  if (!pass.hasBalances) return []
  const definition = await services.definitions.find(pass.workspaceId, pass.templateVersionId)
  return Object.entries(definition?.balances ?? {}).map(([name, balance]) => {
    const { at } = sumOf(pass.balanceSums, name)
    return {
      name,
      kind: balance.kind,
      currency: balance.currency ?? null,
      value: balanceValue(balance, name, pass.balanceSums),
      updatedAt: (at === 0 ? pass.createdAt : new Date(at)).toISOString(),
    }
  })
}

function toReply({ entry, isNew }: AddedEntry) {
  return new Reply(isNew ? 201 : 200, { entry: toEntry(entry) })
}

/**
 * Returns an entry in the format of the API. The order of its properties is fixed, so that every response has the same
 * bytes for an entry.
 */
function toEntry(entry: StoredEntry): BalanceEntry {
  return toBody(BalanceEntry, entry)
}
