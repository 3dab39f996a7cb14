import { hash, type KeyObject, sign, verify } from 'node:crypto'

/**
 * Digest chains prove that entries of the ledger and the audit log did not change (decisions/0022). The digest of each
 * entry covers the previous digest and the values of the entry as canonical JSON (RFC 8785). The last digest is signed.
 */

/** The names of the chains of each workspace: for the ledger of scans, and for the audit log. */
export const chainNames = ['scans', 'audit'] as const
export type ChainName = (typeof chainNames)[number]

/** The previous digest of the first entry of a chain. */
export const GENESIS: Uint8Array = new Uint8Array(32)

/** The values of an entry by name, as the database stores them. Bytes are hexadecimal text. */
export type EntryValues = Record<string, string | number | null>

/** The input for the digest of an entry, in addition to the previous digest. */
export interface ChainedEntry {
  /** The values of the entry that never change. */
  values: EntryValues
  /**
   * The SHA-256 of a salt and of the values that an erasure can remove; `null` without such values. The digest of the
   * entry covers only this hash of the values, so that the chain stays valid after an erasure.
   */
  commitment: Uint8Array | null
  /** Whether the entry existed before the chain. The chain then does not prove its original values. */
  isAdopted: boolean
}

export function commitmentOf(salt: Uint8Array, personal: EntryValues): Uint8Array {
  return sha256(salt, canonicalText(personal))
}

export function entryDigest(previous: Uint8Array, { values, commitment, isAdopted }: ChainedEntry): Uint8Array {
  const added = { ...(isAdopted && { adopted: 1 }), ...(commitment && { personal: hex(commitment) }) }
  return sha256(previous, canonicalText({ ...values, ...added }))
}

/**
 * Returns values as canonical JSON (RFC 8785), with sorted names. Omits null values, so that a new column does not
 * change the digests of existing entries.
 */
function canonicalText(values: EntryValues): string {
  const sorted: EntryValues = {}
  for (const name of Object.keys(values).sort()) if (values[name] !== null) sorted[name] = values[name]!
  return JSON.stringify(sorted)
}

/** The head of a digest chain, which the server signs: the number and digest of the last entry. */
export interface Head {
  chain: ChainName
  /** The ID of the workspace, or the nil UUID for the chain of the whole database. */
  workspaceId: string
  /** The sequence number of the last entry. The first entry has 1. */
  sequence: number
  digest: Uint8Array
  /** The last sequence number that retention removed. If there is none, this is 0, and `baseDigest` is GENESIS. */
  baseSequence: number
  baseDigest: Uint8Array
  /** The time, in milliseconds, before which retention can have deleted entries. 0 if retention deletes nothing. */
  retainedFrom: number
  /** The time of the signature, in milliseconds. */
  signedAt: number
}

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

export function isSameHead(one: Head, other: Head): boolean {
  return headText(one) === headText(other)
}

/** Returns the Ed25519 signature of a head. */
export function signHead(head: Head, privateKey: KeyObject): Uint8Array {
  return sign(null, Buffer.from(headText(head)), privateKey)
}

export function isSignedBy(head: Head, signature: Uint8Array, publicKey: KeyObject): boolean {
  return signature.length === 64 && verify(null, Buffer.from(headText(head)), publicKey, signature)
}

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}

export function isSameDigest(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0
}

function sha256(first: Uint8Array, text: string): Uint8Array {
  return hash('sha256', Buffer.concat([first, Buffer.from(text)]), 'buffer')
}
