import { setImmediate } from 'node:timers/promises'
import { groupBy } from '../../core/group-by.ts'
import { SealError } from '../../core/rules/crypto/server-key.ts'
import { type ChainedEntry, chainNames, commitmentOf, entryDigest, type Head } from '../../core/rules/evidence/chain.ts'
import type { SignedHead } from '../../core/rules/evidence/verification.ts'
import type { Block, ChainKey, PendingEntries } from '../../storage/evidence/chains.ts'
import type { Entry } from '../../storage/evidence/entries.ts'
import type { Repositories, Services } from '../context.ts'
import { createPace } from '../jobs/chunks.ts'
import type { SigningKeys } from './signing-keys.ts'

/** What chaining needs. */
export interface Chaining extends Pick<Services, 'store' | 'clock' | 'log' | 'signingKeys'> {
  /** When each chain that is broken was last told, by its name: the log says so once an hour, and not each second. */
  toldAt: Map<string, Date>
}

/** A chain that nothing more is added to, and why. */
interface BrokenChain extends ChainKey {
  why: string
}

/** Entries that a transaction chains. */
const ROWS = { first: 200, most: 2_000 }

/**
 * Puts what was written to the ledgers and audit logs at the end of their chains, and signs where each ends then; until nothing
 * waits. Several servers may do so at once. What was written a second ago is chained, and no longer anybody's to change unseen.
 * A chain whose end is not what was signed is left alone, so that nobody's change is signed.
 */
export async function extendChains(chaining: Chaining, mayGoOn: () => boolean | Promise<boolean>): Promise<void> {
  const { store } = chaining
  // An entry costs a quarter of a pass. Fewer would make the transaction of its beginning and its end: on PostgreSQL, where nobody
  // waits for it, each statement takes as long as many entries.
  const pace = createPace({ ...ROWS, least: 4 * store.passesATurn })
  const broken: BrokenChain[] = []
  while ((await store.chains.hasPending()) && (await mayGoOn())) {
    const chained = await pace.run(store, async (tx, rows) => {
      const pending = await tx.chains.takePending(rows, broken)
      broken.push(...(await chainEntries(tx, pending, chaining)))
      if (pending.length > 0) return pending.length
      let adopted = 0
      for (const chain of chainNames) adopted += await tx.chains.adopt(chain, rows)
      return adopted
    })
    // Others hold what there is, or it is of chains that are broken.
    if (chained === 0) break
    await setImmediate()
  }
  tellBroken(broken, chaining)
}

const TOLD_EACH_MS = 3_600_000

function tellBroken(broken: BrokenChain[], { clock, log, toldAt }: Chaining): void {
  const at = clock()
  for (const { why, ...key } of broken) {
    const last = toldAt.get(nameOf(key))
    if (last && at.getTime() - last.getTime() < TOLD_EACH_MS) continue
    toldAt.set(nameOf(key), at)
    const command = key.chain === 'scans' ? 'passes scans verify' : 'passes audit verify'
    log.error({ ...key, command }, `${why}: nothing more is chained to it`)
  }
}

/** Of the chains that are touched those that are broken: nothing of them is written. */
async function chainEntries(
  tx: Repositories,
  pending: PendingEntries[],
  { clock, signingKeys }: Chaining,
): Promise<BrokenChain[]> {
  if (pending.length === 0) return []
  const groups = groupBy(pending, nameOf)
  // Both chains of each workspace: its key is made with the beginnings of both.
  const workspaceIds = [...new Set(pending.map(({ workspaceId }) => workspaceId))]
  const heads = await tx.chainHeads.lock(
    workspaceIds.flatMap((workspaceId) => chainNames.map((chain) => ({ workspaceId, chain }))),
  )
  const faults = new Map<string, string>()
  for (const head of heads) {
    const why = await findFault(tx, head, signingKeys)
    if (why !== undefined) faults.set(nameOf(head), why)
  }
  const blocks: Block[] = []
  const signed: SignedHead[] = []
  const broken: BrokenChain[] = []
  const done: string[] = []
  for (const head of heads) {
    const group = groups.get(nameOf(head)) ?? []
    const why = faults.get(nameOf(head))
    if (why !== undefined) {
      if (group.length > 0) broken.push({ workspaceId: head.workspaceId, chain: head.chain, why })
      continue
    }
    const added = await chain(tx, head, group)
    done.push(...group.map(({ id }) => id))
    // What nothing is added to is signed once, at its beginning.
    if (added.length === 0 && head.signature.length > 0) continue
    blocks.push(...added)
    const last = added.at(-1)
    const end = last && { sequence: last.firstSequence + last.entryIds.length - 1, digest: last.digests.at(-1)! }
    signed.push(await signingKeys.sign(tx, { ...head, ...end, signedAt: clock().getTime() }))
  }
  await tx.chains.insertBlocks(blocks)
  await tx.chainHeads.save(signed)
  await tx.chains.deletePending(done)
  return broken
}

async function findFault(tx: Repositories, head: SignedHead, signingKeys: SigningKeys): Promise<string | undefined> {
  try {
    return (await signingKeys.isSound(tx, head)) ? undefined : 'a chain ends otherwise than it was signed'
  } catch (error) {
    if (error instanceof SealError) return 'none of the server keys opens the key that signs a chain'
    throw error
  }
}

function nameOf({ workspaceId, chain }: ChainKey): string {
  return `${workspaceId} ${chain}`
}

/** Entries that a block holds at most. */
const BLOCK = 1_000

/** The blocks of entries after the head of their chain; what is no longer there is passed over. */
async function chain(
  tx: Repositories,
  { workspaceId, chain, ...head }: Head,
  pending: PendingEntries[],
): Promise<Block[]> {
  const blocks: Block[] = []
  let { sequence, digest } = head
  for (const isAdopted of [true, false]) {
    const ids = pending.filter((entries) => entries.isAdopted === isAdopted).flatMap(({ entryIds }) => entryIds)
    for (let from = 0; from < ids.length; from += BLOCK) {
      const some = ids.slice(from, from + BLOCK)
      const entries = await tx.chains.readEntries(chain, some)
      const entryIds = some.filter((id) => entries.has(id))
      const digests = entryIds.map((id) => {
        digest = entryDigest(digest, { ...toChained(entries.get(id)!), isAdopted })
        return digest
      })
      if (entryIds.length > 0)
        blocks.push({ workspaceId, chain, firstSequence: sequence + 1, isAdopted, entryIds, digests })
      sequence += entryIds.length
    }
  }
  return blocks
}

/** What of an entry stands in its digest. */
function toChained({ fixed, personal, salt, commitment }: Entry): Omit<ChainedEntry, 'isAdopted'> {
  return { values: fixed, commitment: salt ? commitmentOf(salt, personal) : commitment }
}

/** Blocks that a transaction takes out of a chain. */
const BLOCKS = { first: 10, most: 1_000 }

/** Lets the chains of audit logs begin after what retention deletes, and signs so before it is deleted. */
export async function trimChains(
  chaining: Pick<Chaining, 'store' | 'clock' | 'signingKeys'>,
  before: Date,
  mayGoOn: () => boolean,
): Promise<void> {
  const { store, clock, signingKeys } = chaining
  const pace = createPace(BLOCKS)
  for (const key of await store.chains.listTrimmable(before)) {
    let isMore = true
    while (isMore && mayGoOn()) {
      isMore = await pace.run(store, async (tx, rows) => {
        const [head] = await tx.chainHeads.lock([key])
        if (!head || (await findFault(tx, head, signingKeys)) !== undefined) return false
        const last = await tx.chains.deleteFirst(head, before, rows)
        const base = last && {
          baseSequence: last.firstSequence + last.entryIds.length - 1,
          baseDigest: last.digests.at(-1)!,
        }
        const trimmed = {
          ...head,
          ...base,
          retainedFrom: Math.max(head.retainedFrom, before.getTime()),
          signedAt: clock().getTime(),
        }
        await tx.chainHeads.save([await signingKeys.sign(tx, trimmed)])
        return last !== undefined
      })
    }
  }
}
