import type { Repositories, Store } from '../../storage/store.ts'

/** Phones that are told of changes at once: all of them are in memory and in one transaction, and a pass may be on 10,000. */
const MOST_DEVICES = 20_000

/** What is to be told of passes, in parts that so many phones hold together (decisions/0003). */
export async function inParts<Item>(
  workspaceId: string,
  items: Item[],
  passIdOf: (item: Item) => string,
  { heldPasses }: Pick<Store, 'heldPasses'>,
): Promise<Item[][]> {
  if (items.length < 2) return [items]
  const devices = await heldPasses.countDevices(workspaceId, items.map(passIdOf))
  const parts: Item[][] = [[]]
  let told = 0
  for (const item of items) {
    const count = devices.get(passIdOf(item)) ?? 0
    if (told > 0 && told + count > MOST_DEVICES) {
      parts.push([])
      told = 0
    }
    parts.at(-1)!.push(item)
    told += count
  }
  return parts
}

/** When and why wallets hold other passes than before. */
export interface HoldingCause {
  at: Date
  correlationId: string | null
}

/**
 * Tells which of the passes are in wallets of a platform now and were in none, or the other way round: `pass.installed`,
 * `pass.removed`, each once. Called last in the transaction that changed registrations or objects (decisions/0018). True where
 * there was anything to tell.
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

/** The same for devices that went without a word: Apple says that they no longer have the app or the pass. */
export async function tellDropped(
  tx: Repositories,
  dropped: { workspaceId: string; passId: string }[],
  at: Date,
): Promise<void> {
  // One order for everyone, so that two never wait for each other.
  for (const workspaceId of [...new Set(dropped.map((one) => one.workspaceId))].sort()) {
    const passIds = dropped.filter((one) => one.workspaceId === workspaceId).map(({ passId }) => passId)
    await tellHolders(tx, workspaceId, passIds, { at, correlationId: null })
  }
}
