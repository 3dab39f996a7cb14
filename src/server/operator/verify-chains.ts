import { idBound } from '../../core/ids.ts'
import type { ChainName } from '../../core/rules/evidence/chain.ts'
import { entryJson, headJson, openSigningKey } from '../../core/rules/evidence/evidence-file.ts'
import {
  type ChainReport,
  MAX_DESCRIBED,
  type SignedHead,
  Verification,
} from '../../core/rules/evidence/verification.ts'
import { openPrivate } from '../../files/private-file.ts'
import type { UnchainedEntry } from '../../storage/evidence/chain-reader.ts'
import type { ChainKey } from '../../storage/evidence/chains.ts'
import { ERASED } from '../../storage/evidence/entries.ts'
import type { Store } from '../../storage/store.ts'
import { getWorkspace, OperatorError, withStore } from './operator.ts'

/** What a chain says of itself, and what is wrong with it. */
export interface VerifiedChain extends ChainReport {
  workspaceId: string
  chain: ChainName
  /** Of the last entry; 0 where nothing is chained. */
  sequence: number
  /** Where it ends, as it is signed and can be kept; null where nothing says so. */
  head: ReturnType<typeof headJson> | null
  /** As PEM; null where the database holds none. */
  publicKey: string | null
}

/** What was verified. */
export interface Verified {
  chains: VerifiedChain[]
  /** Entries that were written and are not chained yet. */
  waiting: number
}

/** Which chains, and what else is known of them. */
export interface VerifyOptions {
  /** Name or id; all, and what concerns the whole database, where it is left out. */
  workspace?: string | undefined
  /** The key that must have signed, as PEM: that of the database otherwise. */
  publicKey?: string | undefined
  /** Heads that were kept elsewhere. */
  kept?: SignedHead[]
  onEntries?: (count: number) => void
}

/** Blocks whose entries are read at once. */
const BLOCKS = 4

/** Ids that are read at once. */
const IDS = 10_000

/** Verifies chains as they stand in a database. Reads alone. @throws OperatorError for a workspace that is not there */
export async function verifyChains(store: Store, chain: ChainName, options: VerifyOptions = {}): Promise<Verified> {
  const { workspace } = options
  const only = workspace === undefined ? undefined : (await getWorkspace(store, workspace)).id
  const waiting = await store.chainReader.findPending(chain)
  const keys = await store.chainReader.listChains(chain)
  const found = createIdSet()
  const chains: VerifiedChain[] = []
  for (const key of keys) {
    if (only === undefined || only === key.workspaceId) chains.push(await verifyChain(store, key, found, options))
  }
  const reported = new Map(chains.map((one) => [one.workspaceId, one]))
  for (const { id, workspaceId } of await findUnchained(store, { chain, only }, found, chains)) {
    let report = reported.get(workspaceId)
    if (!report) {
      report = await verifyChain(store, { workspaceId, chain }, found, options)
      reported.set(workspaceId, report)
      chains.push(report)
    }
    if (id < idBound(report.head?.retainedFrom ?? 0)) continue
    report.faultCount += 1
    if (report.faults.length < MAX_DESCRIBED)
      report.faults.push({ kind: 'inserted', id, message: 'The entry is in no chain.' })
  }
  return { chains, waiting: waiting.count }
}

/** @param found gets the ids of the entries that are there */
async function verifyChain(
  store: Store,
  key: ChainKey,
  found: IdSet,
  { publicKey: wanted, kept = [], onEntries }: VerifyOptions,
): Promise<VerifiedChain> {
  const known = await store.chainHeads.findKeys(key.workspaceId)
  const publicKey = wanted ?? known?.publicKey ?? null
  const head = await store.chainReader.findHead(key)
  const hourly = await store.chainReader.listHourlyHeads(key)
  const about = { ...key, sequence: head?.sequence ?? 0, head: head ? headJson(head) : null, publicKey }
  const opened = publicKey === null ? undefined : openSigningKey(publicKey)
  if (!head || !opened) {
    const message = head
      ? 'The database holds no public key of the workspace that can be read.'
      : 'Nothing says where the chain ends.'
    return { ...about, ...nothing, faultCount: 1, faults: [{ kind: 'unsigned', message }] }
  }
  const earlier = [...hourly, ...kept.filter((one) => isOf(one, key))]
  const verification = new Verification({ head, earlier, publicKey: opened, erased: ERASED })
  for (const { hour, signedAt, sequence } of hourly) {
    if (hour === Math.floor(signedAt / HOUR_MS)) continue
    const message = 'A signed head stands at another hour than that of its signature.'
    verification.fault({ kind: 'unsigned', sequence, message })
  }
  // Blocks that stand before the beginning are read, too: none may be there.
  for (let after = Number.MIN_SAFE_INTEGER, isMore = true; isMore; ) {
    const entries = await store.chainReader.listEntries(key, after, BLOCKS)
    // What is after the head was chained since that was read.
    const known = entries.filter(({ sequence }) => sequence <= head.sequence)
    for (const entry of known) {
      verification.add(entry)
      if (entry.fixed) found.add(entry.id)
    }
    onEntries?.(known.length)
    after = entries.at(-1)?.firstSequence ?? after
    isMore = known.length > 0 && known.length === entries.length
  }
  const last = await store.chainReader.findLastSequence(key)
  const end = (await store.chainReader.findHead(key))?.sequence ?? 0
  if (last > end) {
    const message = 'It stands behind the end of the chain.'
    verification.fault({ kind: 'inserted', sequence: end + 1, toSequence: last, message })
  }
  return { ...about, ...verification.end() }
}

/** Of the entries that say that they were handed to a chain those that are neither in it nor wait for it. */
async function findUnchained(
  store: Store,
  { chain, only }: { chain: ChainName; only: string | undefined },
  found: IdSet,
  chains: VerifiedChain[],
): Promise<UnchainedEntry[]> {
  const unknown: UnchainedEntry[] = []
  for (let after = '', isMore = true; isMore; ) {
    const entries = await store.chainReader.listHandedOver(chain, after, IDS)
    for (const entry of entries) {
      if (!found.has(entry.id) && (only === undefined || only === entry.workspaceId)) unknown.push(entry)
    }
    after = entries.at(-1)?.id ?? after
    isMore = entries.length === IDS
  }
  if (unknown.length === 0) return []
  // Written since the chains were read. What waits moves into a chain, not the other way round.
  const recent = new Set(await store.chainReader.listPendingIds(chain))
  for (const { workspaceId, sequence } of chains) {
    for (let after = sequence, isMore = true; isMore; ) {
      const blocks = await store.chains.listBlocks({ workspaceId, chain }, after, BLOCKS)
      for (const { entryIds } of blocks) for (const id of entryIds) recent.add(id)
      after = blocks.at(-1)?.firstSequence ?? after
      isMore = blocks.length === BLOCKS
    }
  }
  return unknown.filter(({ id }) => !recent.has(id))
}

/** A set of ids of any size: one of JavaScript's ends at 16 million. Takes about 100 bytes for each. */
interface IdSet {
  add(id: string): void
  has(id: string): boolean
}

function createIdSet(): IdSet {
  const parts = new Map<string, Set<string>>()
  const partOf = (id: string) => {
    const key = id.slice(-2)
    const part = parts.get(key) ?? new Set<string>()
    parts.set(key, part)
    return part
  }
  return { add: (id) => partOf(id).add(id), has: (id) => partOf(id).has(id) }
}

const HOUR_MS = 3_600_000
const nothing = { entries: 0, adopted: 0, erased: 0 }

function isOf(head: SignedHead, { workspaceId, chain }: ChainKey): boolean {
  return head.workspaceId === workspaceId && head.chain === chain
}

/** Verifies the chains of a database. @throws OperatorError, DatabaseError */
export function verifyDatabase(
  chain: ChainName,
  { database, ...options }: VerifyOptions & { database: string },
): Promise<Verified> {
  return withStore(database, (store) => verifyChains(store, chain, options))
}

/** What makes a chain of a workspace provable elsewhere, in lines of JSON: what it holds of people, too. */
export async function* proveChain(
  store: Store,
  { workspace, chain }: { workspace: string; chain: ChainName },
): AsyncGenerator<string> {
  const { id: workspaceId, name } = await getWorkspace(store, workspace)
  const key = { workspaceId, chain }
  const head = await store.chainReader.findHead(key)
  const keys = await store.chainHeads.findKeys(workspaceId)
  if (!head || !keys) throw new OperatorError(`Nothing of ${name} is chained yet: a server does so within seconds.`)
  yield line({ format: 'passes-evidence-1', publicKey: keys.publicKey, head: headJson(head) })
  for (const { hour: _, ...signed } of await store.chainReader.listHourlyHeads(key)) {
    // Signed since.
    if (signed.sequence <= head.sequence) yield line({ signed: headJson(signed) })
  }
  for (let after = head.baseSequence; after < head.sequence; ) {
    const entries = await store.chainReader.listEntries(key, after, BLOCKS)
    const known = entries.filter(({ sequence }) => sequence <= head.sequence)
    yield known.map((entry) => line(entryJson(entry))).join('')
    if (known.length < entries.length || known.length === 0) return
    after = known.at(-1)!.sequence
  }
}

/**
 * Writes a chain with its proof to a file that only its owner reads, or, where none is named, out.
 * @throws OperatorError
 */
export async function writeProof(
  chain: ChainName,
  { database, workspace, out }: { database: string; workspace: string; out?: string | undefined },
  writeOut: (text: string) => Promise<unknown>,
): Promise<void> {
  await withStore(database, async (store) => {
    let file: Awaited<ReturnType<typeof openPrivate>> | undefined
    try {
      for await (const text of proveChain(store, { workspace, chain })) {
        if (out !== undefined) file ??= await openPrivate(out, 'w')
        await (file ? file.appendFile(text) : writeOut(text))
      }
      await file?.sync()
    } finally {
      await file?.close()
    }
  })
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`
}
