import { hash, type KeyObject, sign, verify } from 'node:crypto'

/**
 * Chains of digests over what nobody may change (decisions/0022). Each entry of a workspace's chain has a digest over the digest
 * of the entry before and its own values as canonical JSON (RFC 8785), and the digest of the last one is signed.
 */

/** What is chained, each by workspace: the ledger of scans, and the audit log. */
export const chainNames = ['scans', 'audit'] as const
/** One of the two chains of a workspace. */
export type ChainName = (typeof chainNames)[number]

/** What stands before the first entry. */
export const GENESIS: Uint8Array = new Uint8Array(32)

/** The values of an entry by their names, as the database holds them; bytes as hexadecimal text. */
export type EntryValues = Record<string, string | number | null>

/** What a digest is made of, beside the one before. */
export interface ChainedEntry {
  /** What never changes. */
  values: EntryValues
  /** SHA-256 of a salt and of what an erasure may take out, so that the chain outlives it; null where there is no such thing. */
  commitment: Uint8Array | null
  /** It was there before the chain was: what it said until then nobody knows. */
  isAdopted: boolean
}

/** The digest that stands for what an erasure may take out. */
export function commitmentOf(salt: Uint8Array, personal: EntryValues): Uint8Array {
  return sha256(salt, canonicalText(personal))
}

/** The digest of an entry, after that of the entry before. */
export function entryDigest(previous: Uint8Array, { values, commitment, isAdopted }: ChainedEntry): Uint8Array {
  const beside = { ...(isAdopted && { adopted: 1 }), ...(commitment && { personal: hex(commitment) }) }
  return sha256(previous, canonicalText({ ...values, ...beside }))
}

/**
 * Canonical JSON (RFC 8785) of texts and numbers, which is that of JavaScript with names in their order. What is null is left
 * out, so that a value that is added later changes no digest.
 */
function canonicalText(values: EntryValues): string {
  const sorted: EntryValues = {}
  for (const name of Object.keys(values).sort()) if (values[name] !== null) sorted[name] = values[name]!
  return JSON.stringify(sorted)
}

/** How far a chain has come, as it is signed. */
export interface Head {
  chain: ChainName
  /** All zeros for what concerns the whole database. */
  workspaceId: string
  /** Of the last entry; the first is 1. */
  sequence: number
  digest: Uint8Array
  /** The last of the entries that retention has taken out of the chain; 0 and GENESIS where it has none. */
  baseSequence: number
  baseDigest: Uint8Array
  /** What is older may have been deleted by retention, in milliseconds; 0 where it deletes nothing. */
  retainedFrom: number
  /** In milliseconds. */
  signedAt: number
}

/** The bytes that a signature of a head is over. */
function headText(head: Head): string {
  const { chain, workspaceId, sequence, digest, baseSequence, baseDigest, retainedFrom, signedAt } = head
  const digests = { digest: hex(digest), baseDigest: hex(baseDigest) }
  return canonicalText({
    format: 'passes-head-1',
    chain,
    workspaceId,
    sequence,
    baseSequence,
    retainedFrom,
    signedAt,
    ...digests,
  })
}

/** Whether two heads say the same. */
export function isSameHead(one: Head, other: Head): boolean {
  return headText(one) === headText(other)
}

/** The Ed25519 signature of a head. */
export function signHead(head: Head, privateKey: KeyObject): Uint8Array {
  return sign(null, Buffer.from(headText(head)), privateKey)
}

/** Whether the key signed the head as it stands. */
export function isSignedBy(head: Head, signature: Uint8Array, publicKey: KeyObject): boolean {
  return signature.length === 64 && verify(null, Buffer.from(headText(head)), publicKey, signature)
}

/** Bytes as hexadecimal text. */
export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}

/** Whether two digests are the same. */
export function isSameDigest(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0
}

function sha256(first: Uint8Array, text: string): Uint8Array {
  return hash('sha256', Buffer.concat([first, Buffer.from(text)]), 'buffer')
}
