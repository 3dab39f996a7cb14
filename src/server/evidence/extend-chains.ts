import { setImmediate } from 'node:timers/promises'
import { groupBy } from '../../core/group-by.ts'
import { SealError } from '../../core/rules/crypto/server-key.ts'
import { type ChainedEntry, chainNames, commitmentOf, entryDigest, type Head } from '../../core/rules/evidence/chain.ts'
import type { SignedHead } from '../../core/rules/evidence/verification.ts'
import type { Block, ChainKey, PendingEntries } from '../../storage/evidence/chains.ts'
import type { Entry } from '../../storage/evidence/entries.ts'
import type { Repositories, Services } from '../context.ts'
import { createPace } from '../jobs/chunks.ts'
import { nameOf, type SigningKeys } from './signing-keys.ts'

export interface Chaining extends Pick<Services, 'store' | 'clock' | 'log' | 'signingKeys'> {
  /** The time at which each broken chain was last logged, by its name. A broken chain is logged once an hour. */
  loggedAt: Map<string, Date>
}

interface BrokenChain extends ChainKey {
  why: string
}

/** The initial and the maximum number of entries per transaction. */
const ROWS = { first: 200, most: 2_000 }

/**
 * Appends new entries of ledgers and audit logs to their chains, and signs the new ends, until no entry is pending. An
 * entry is chained about a second after it is written. After that, verification detects every change of the entry. A
 * chain whose end does not match its signature is not extended, so that a manipulation is never signed. Several servers
 * can do this concurrently.
 */
export async function extendChains(chaining: Chaining, mayGoOn: () => boolean | Promise<boolean>): Promise<void> {
  const { store } = chaining
  // The minimum is four times `passesPerTurn`, because an entry takes a quarter of the time of a pass. On PostgreSQL,
  // larger transactions save the time of BEGIN and COMMIT, and block no other writer.
  const pace = createPace({ ...ROWS, least: 4 * store.passesPerTurn })
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
    // Other servers are chaining the remaining entries, or all remaining entries belong to broken chains.
    if (chained === 0) break
    await setImmediate()
  }
  logBroken(broken, chaining)
}

const LOG_INTERVAL_MS = 3_600_000

function logBroken(broken: BrokenChain[], { clock, log, loggedAt }: Chaining): void {
  const at = clock()
  for (const { why, ...key } of broken) {
    const last = loggedAt.get(nameOf(key))
    if (last && at.getTime() - last.getTime() < LOG_INTERVAL_MS) continue
    loggedAt.set(nameOf(key), at)
    const command = key.chain === 'scans' ? 'passes scans verify' : 'passes audit verify'
    log.error({ ...key, command }, `${why}: new entries are not added to the chain`)
  }
}

async function chainEntries(
  tx: Repositories,
  pending: PendingEntries[],
  { clock, signingKeys }: Chaining,
): Promise<BrokenChain[]> {
  if (pending.length === 0) return []
  const groups = groupBy(pending, nameOf)
  // Sign both chains of a workspace in one transaction. The first signature creates the key of the workspace, after
  // which a chain without a signature counts as broken.
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
    // A chain without new entries needs a signature only if it is not signed yet.
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
    return (await signingKeys.isSound(tx, head)) ? undefined : 'the end of a chain does not match its signature'
  } catch (error) {
    if (error instanceof SealError)
      return 'none of the server keys (see PASSES_PREVIOUS_SERVER_KEYS) decrypts the key that signs a chain'
    throw error
  }
}

const BLOCK = 1_000

/** Returns the blocks that append pending entries to a chain. Skips entries that no longer exist. */
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

function toChained({ fixed, personal, salt, commitment }: Entry): Omit<ChainedEntry, 'isAdopted'> {
  return { values: fixed, commitment: salt ? commitmentOf(salt, personal) : commitment }
}

/** The initial and the maximum number of blocks that a transaction removes from an audit chain. */
const BLOCKS = { first: 10, most: 1_000 }

/** Shortens each audit chain: removes the first entries, which retention will delete, and signs the chain again. */
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
