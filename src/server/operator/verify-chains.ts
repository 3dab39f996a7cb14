import { idBound } from '../../core/ids.ts'
import type { ChainName } from '../../core/rules/evidence/chain.ts'
import { entryJson, headJson, openSigningKey, type VerifiedChain } from '../../core/rules/evidence/evidence-file.ts'
import { MAX_DESCRIBED, type SignedHead, Verification } from '../../core/rules/evidence/verification.ts'
import { openPrivate, withPath } from '../../files/private-file.ts'
import type { UnchainedEntry } from '../../storage/evidence/chain-reader.ts'
import type { ChainKey } from '../../storage/evidence/chains.ts'
import type { Store } from '../../storage/store.ts'
import { getWorkspace, OperatorError, withStore } from './operator.ts'

export interface Verified {
  chains: VerifiedChain[]
  /** The number of entries that were written, but are not in the chain yet. */
  waiting: number
}

export interface VerifyOptions {
  /** The name or ID of a workspace. Default: all workspaces, and the chains of the database as a whole. */
  workspace?: string | undefined
  /** The public key that must match the signatures, as PEM. Default: the key in the database. */
  publicKey?: string | undefined
  kept?: SignedHead[]
}

/** The number of blocks per query. */
const BLOCKS = 4

/** The number of IDs per query. */
const IDS = 10_000

/** Verifies the chains in a database without writing to it. @throws OperatorError if the workspace does not exist */
export async function verifyChains(store: Store, chain: ChainName, options: VerifyOptions = {}): Promise<Verified> {
  const { workspace } = options
  const only = workspace === undefined ? undefined : (await getWorkspace(store, workspace)).id
  const waiting = await store.chainReader.findPending(chain)
  const all = await store.chainReader.listChains(chain)
  const keys = all.filter(({ workspaceId }) => only === undefined || only === workspaceId)
  if (options.publicKey !== undefined && keys.length > 1)
    throw new OperatorError('Each workspace has its own public key: add --workspace to verify with --public-key.')
  const found = createIdSet()
  const chains: VerifiedChain[] = []
  for (const key of keys) chains.push(await verifyChain(store, key, found, options))
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
      report.faults.push({ kind: 'inserted', id, message: 'The entry is marked as chained, but is not in the chain.' })
  }
  return { chains, waiting: waiting.count }
}

/** @param found receives the ids of all chained entries */
async function verifyChain(
  store: Store,
  key: ChainKey,
  found: IdSet,
  { publicKey: wanted, kept = [] }: VerifyOptions,
): Promise<VerifiedChain> {
  const known = await store.chainHeads.findKeys(key.workspaceId)
  const publicKey = wanted ?? known?.publicKey ?? null
  const head = await store.chainReader.findHead(key)
  const hourly = await store.chainReader.listHourlyHeads(key)
  const about = { ...key, sequence: head?.sequence ?? 0, head: head ? headJson(head) : null, publicKey }
  const opened = publicKey === null ? undefined : openSigningKey(publicKey)
  if (!head || !opened) {
    const message = head
      ? 'The database has no readable public key of the workspace.'
      : 'The record of the end of the chain is missing.'
    return { ...about, ...nothing, faultCount: 1, faults: [{ kind: 'unsigned', message }] }
  }
  const earlier = [...hourly, ...kept.filter((one) => isOf(one, key))]
  const verification = new Verification({ head, earlier, publicKey: opened })
  for (const { hour, signedAt, sequence } of hourly) {
    if (hour === Math.floor(signedAt / HOUR_MS)) continue
    const message = 'The stored hour of a signed head is not the hour of its signature.'
    verification.fault({ kind: 'unsigned', sequence, message })
  }
  // Also read blocks before the beginning of the chain: if one exists, the chain was manipulated.
  for (let after = Number.MIN_SAFE_INTEGER, isMore = true; isMore; ) {
    const entries = await store.chainReader.listEntries(key, after, BLOCKS)
    // Skip entries after the head: they were chained after the head was read.
    const known = entries.filter(({ sequence }) => sequence <= head.sequence)
    for (const entry of known) {
      verification.add(entry)
      if (entry.fixed) found.add(entry.id)
    }
    after = entries.at(-1)?.firstSequence ?? after
    isMore = known.length > 0 && known.length === entries.length
  }
  const last = await store.chainReader.findLastSequence(key)
  const end = (await store.chainReader.findHead(key))?.sequence ?? 0
  if (last > end) {
    const message = 'The chain has entries after its recorded end.'
    verification.fault({ kind: 'inserted', sequence: end + 1, toSequence: last, message })
  }
  return { ...about, ...verification.end() }
}

/** Returns the entries that are marked as chained, but are missing in their chain. */
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
  // Exclude entries that were written after the verification read the chains: they are pending, or in a newer block.
  // Read the pending entries before the newer blocks. Otherwise, both reads would miss an entry that is chained between
  // the two reads.
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

type IdSet = ReturnType<typeof createIdSet>

/** Creates a set of IDs without a size limit (a JavaScript Set holds about 16 million). Takes about 100 bytes per ID. */
function createIdSet() {
  const parts = new Map<string, Set<string>>()
  const partOf = (id: string) => {
    const key = id.slice(-2)
    const part = parts.get(key) ?? new Set<string>()
    parts.set(key, part)
    return part
  }
  return { add: (id: string) => partOf(id).add(id), has: (id: string) => partOf(id).has(id) }
}

const HOUR_MS = 3_600_000
const nothing = { entries: 0, adopted: 0, erased: 0 }

function isOf(head: SignedHead, { workspaceId, chain }: ChainKey): boolean {
  return head.workspaceId === workspaceId && head.chain === chain
}

export function verifyDatabase(
  chain: ChainName,
  { database, ...options }: VerifyOptions & { database: string },
): Promise<Verified> {
  return withStore(database, (store) => verifyChains(store, chain, options))
}

/** Yields a proof of a chain in lines of JSON, with the personal data of its entries. */
export async function* proveChain(
  store: Store,
  { workspace, chain }: { workspace: string; chain: ChainName },
): AsyncGenerator<string> {
  const { id: workspaceId, name } = await getWorkspace(store, workspace)
  const key = { workspaceId, chain }
  const head = await store.chainReader.findHead(key)
  const keys = await store.chainHeads.findKeys(workspaceId)
  if (!head || !keys)
    throw new OperatorError(`No entry of ${name} is chained yet: a running server chains entries in seconds.`)
  yield line({ format: 'passes-evidence-1', publicKey: keys.publicKey, head: headJson(head) })
  for (const { hour: _, ...signed } of await store.chainReader.listHourlyHeads(key)) {
    // Skip heads that were signed since `head` was read.
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

/** Writes a proof to a private file or to `writeOut`. @throws OperatorError if no entry is chained yet */
export async function writeProof(
  chain: ChainName,
  { database, workspace, out }: { database: string; workspace: string; out?: string | undefined },
  writeOut: (text: string) => Promise<unknown>,
): Promise<void> {
  await withStore(database, async (store) => {
    let file: Awaited<ReturnType<typeof openPrivate>> | undefined
    const rethrow = (error: unknown) => {
      throw withPath(error, out!)
    }
    try {
      for await (const text of proveChain(store, { workspace, chain })) {
        if (out !== undefined) file ??= await openPrivate(out, 'w')
        await (file ? file.appendFile(text).catch(rethrow) : writeOut(text))
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
