import { createPublicKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import { type ChainName, chainNames, hex } from './chain.ts'
import type { ChainedEntry, ChainReport, SignedHead } from './verification.ts'

/**
 * The file format of exported digest chains. The first line has the head and the public key. The next lines have the
 * signed heads of each hour, and then the entries in order. Digests, salts, and signatures are hexadecimal text.
 */

const Bytes = z
  .string()
  .regex(/^(?:[0-9a-f]{2})*$/)
  .transform((text): Uint8Array => Buffer.from(text, 'hex'))
const Count = z.int().min(0)
const Values = z.record(z.string(), z.union([z.string(), z.number(), z.null()]))

export const HeadJson = z.strictObject({
  chain: z.enum(chainNames),
  workspaceId: z.string(),
  sequence: Count,
  digest: Bytes,
  baseSequence: Count,
  baseDigest: Bytes,
  retainedFrom: Count,
  signedAt: Count,
  signature: Bytes,
})

export const EvidenceStart = z.strictObject({
  format: z.literal('passes-evidence-1'),
  publicKey: z.string(),
  head: HeadJson,
})

/** A line after the first line of the file: a signed head, or an entry. */
export const EvidenceLine = z.union([
  z.strictObject({ signed: HeadJson }),
  z.strictObject({
    sequence: Count,
    id: z.string(),
    isAdopted: z.boolean(),
    salt: Bytes.nullable(),
    commitment: Bytes.nullable(),
    digest: Bytes,
    fixed: Values.nullable(),
    personal: Values,
  }),
])

/** The result of a verification, as JSON. */
export interface VerifiedChain extends ChainReport {
  workspaceId: string
  chain: ChainName
  /** The sequence number of the last chained entry; 0 if no entry is chained. */
  sequence: number
  /** The signed end of the chain, which an auditor can keep elsewhere; null if it is missing. */
  head: z.input<typeof HeadJson> | null
  /** The public key of the workspace, as PEM; null if the database contains none. */
  publicKey: string | null
}

export function headJson(head: SignedHead): z.input<typeof HeadJson> {
  const { chain, workspaceId, sequence, baseSequence, retainedFrom, signedAt } = head
  const bytes = { digest: hex(head.digest), baseDigest: hex(head.baseDigest), signature: hex(head.signature) }
  return { chain, workspaceId, sequence, baseSequence, retainedFrom, signedAt, ...bytes }
}

export function entryJson(entry: ChainedEntry): z.input<typeof EvidenceLine> {
  const { sequence, id, isAdopted, salt, commitment, digest, fixed, personal } = entry
  return {
    sequence,
    id,
    isAdopted,
    fixed,
    personal,
    salt: salt && hex(salt),
    commitment: commitment && hex(commitment),
    digest: hex(digest),
  }
}

/** Reads an Ed25519 public key from a PEM text. Returns `undefined` for any other text. */
export function openSigningKey(pem: string): KeyObject | undefined {
  try {
    const key = createPublicKey(pem)
    return key.asymmetricKeyType === 'ed25519' ? key : undefined
  } catch {
    return undefined
  }
}
