import type { Repositories, Store } from '../../storage/store.ts'

/**
 * The maximum number of phones per part, which are in memory and in one transaction together. A pass can have 10,000.
 */
const MOST_DEVICES = 20_000

/** Splits items about passes into parts of at most that many phones (decisions/0003). */
export async function inParts<Item>(
  workspaceId: string,
  items: Item[],
  passIdOf: (item: Item) => string,
  { heldPasses }: Pick<Store, 'heldPasses'>,
): Promise<Item[][]> {
  if (items.length < 2) return [items]
  const devices = await heldPasses.countDevices(workspaceId, items.map(passIdOf))
  const parts: Item[][] = [[]]
  let emitted = 0
  for (const item of items) {
    const count = devices.get(passIdOf(item)) ?? 0
    if (emitted > 0 && emitted + count > MOST_DEVICES) {
      parts.push([])
      emitted = 0
    }
    parts.at(-1)!.push(item)
    emitted += count
  }
  return parts
}

export interface HoldingCause {
  at: Date
  correlationId: string | null
}

/**
 * Emits `pass.installed` and `pass.removed`, once each, for passes that now are in a wallet of a platform and were in
 * none, or the reverse. Call it last in the transaction that changes registrations or objects (decisions/0018). Returns
 * whether it emitted any.
 */
export async function tellHolders(
  tx: Repositories,
  workspaceId: string,
  passIds: string[],
  { at, correlationId }: HoldingCause,
): Promise<boolean> {
  const changes = await tx.heldPasses.settle(workspaceId, passIds)
  if (changes.length === 0) return false
  const changed = [...new Set(changes.map(({ passId }) => passId))]
  const passes = new Map((await tx.passes.listByIds(workspaceId, changed)).map((pass) => [pass.id, pass]))
  const events = changes.map(({ passId: id, platform, devices }) => {
    const { externalPassId, projectId } = passes.get(id)!
    const type = devices > 0 ? ('pass.installed' as const) : ('pass.removed' as const)
    return { type, subject: id, data: { id, externalPassId, projectId, platform, devices }, correlationId }
  })
  await tx.events.insert(workspaceId, events, at)
  return true
}

/** Emits the same events for devices that Apple reports as gone. */
export async function tellDropped(
  tx: Repositories,
  dropped: { workspaceId: string; passId: string }[],
  at: Date,
): Promise<void> {
  // Lock in one order, so that two transactions do not deadlock.
  for (const workspaceId of [...new Set(dropped.map((one) => one.workspaceId))].sort()) {
    const passIds = dropped.filter((one) => one.workspaceId === workspaceId).map(({ passId }) => passId)
    await tellHolders(tx, workspaceId, passIds, { at, correlationId: null })
  }
}
