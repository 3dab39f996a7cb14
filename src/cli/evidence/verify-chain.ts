import { createInterface } from 'node:readline'
import { Flags, type Interfaces } from '@oclif/core'
import { z } from 'zod'
import { parseJson } from '../../core/json.ts'
import type { ChainName } from '../../core/rules/evidence/chain.ts'
import {
  EvidenceLine,
  EvidenceStart,
  HeadJson,
  headJson,
  openSigningKey,
  type VerifiedChain,
} from '../../core/rules/evidence/evidence-file.ts'
import { type ChainFault, type SignedHead, Verification } from '../../core/rules/evidence/verification.ts'
import { NIL_UUID } from '../../core/uuid.ts'
import { CliError, readNamed, streamNamed } from '../command/cli-error.ts'
import { count, counted, localTime } from '../command/output.ts'

export const knownFlags = {
  'public-key': Flags.string({
    summary: 'PEM file with the public key of the workspace: ledgerPublicKey in GET /v1/workspace.',
    helpValue: 'FILE',
  }),
  kept: Flags.string({
    summary: 'File with earlier --json output of verify, to detect whether the database was reset or rewritten since.',
    helpValue: 'FILE',
  }),
}

export interface Known {
  publicKey: string | undefined
  kept: SignedHead[]
}

/** @throws CliError if a file does not have the expected content */
export async function readKnown(flags: Interfaces.InferredFlags<typeof knownFlags>): Promise<Known> {
  const file = flags['public-key']
  const publicKey = file === undefined ? undefined : String(await readNamed(file))
  if (publicKey !== undefined && !openSigningKey(publicKey))
    throw new CliError(`${file} contains no Ed25519 public key`)
  if (flags.kept === undefined) return { publicKey, kept: [] }
  const parsed = Kept.safeParse(parseJson(String(await readNamed(flags.kept))))
  if (!parsed.success) throw new CliError(`${flags.kept} is not the output of a verify command with --json`)
  return { publicKey, kept: parsed.data.chains.flatMap(({ head }) => head ?? []) }
}

const Kept = z.object({ chains: z.array(z.object({ head: HeadJson.nullable() })) })

/** Verifies a proof file with the given key, or with the key that the file names. @throws CliError */
export async function verifyFile(path: string, chain: ChainName, { publicKey, kept }: Known): Promise<VerifiedChain> {
  const lines = createInterface({ input: streamNamed(path), crlfDelay: Number.POSITIVE_INFINITY })
  let begun: { start: z.output<typeof EvidenceStart>; key: string } | undefined
  let verification: Verification | undefined
  let earlier: SignedHead[] = []
  let number = 0
  for await (const text of lines) {
    number += 1
    if (!begun) {
      const start = EvidenceStart.safeParse(parseJson(text))
      if (!start.success) throw new CliError(`${path} is not a file that "passes ${chain} prove" wrote`)
      if (start.data.head.chain !== chain) {
        throw new CliError(`${path} belongs to the chain ${start.data.head.chain}`, {
          hint: `verify it with "passes ${start.data.head.chain} verify"`,
        })
      }
      begun = { start: start.data, key: publicKey ?? start.data.publicKey }
      earlier = kept.filter((one) => one.chain === chain && one.workspaceId === start.data.head.workspaceId)
      continue
    }
    const line = EvidenceLine.safeParse(parseJson(text))
    if (!line.success) throw new CliError(`Line ${number} of ${path} was not written by "passes ${chain} prove"`)
    if ('signed' in line.data) {
      earlier.push(line.data.signed)
      continue
    }
    verification ??= begin(begun, earlier)
    verification.add(line.data)
    const { sequence, id, fixed } = line.data
    if (fixed && (fixed.id !== id || fixed.workspace_id !== begun.start.head.workspaceId)) {
      verification.fault({ kind: 'altered', sequence, id, message: 'The values belong to another entry or workspace.' })
    }
  }
  if (!begun) throw new CliError(`${path} is empty`)
  const { start, key } = begun
  const { workspaceId, sequence } = start.head
  const report = (verification ?? begin(begun, earlier)).end()
  return { workspaceId, chain, sequence, head: headJson(start.head), publicKey: key, ...report }
}

function begin(
  { start, key }: { start: z.output<typeof EvidenceStart>; key: string },
  earlier: SignedHead[],
): Verification {
  const publicKey = openSigningKey(key)
  if (!publicKey)
    throw new CliError('The file contains no Ed25519 public key', { hint: 'give it with --public-key FILE' })
  return new Verification({ head: start.head, earlier, publicKey })
}

export function showChains(
  { chains, waiting }: { chains: VerifiedChain[]; waiting: number },
  { isKeyKnown }: { isKeyKnown: boolean },
): string {
  const lines = chains.flatMap(({ workspaceId, entries, adopted, erased, sequence, head, faultCount, faults }) => {
    const until = head ? `, signed ${localTime(new Date(head.signedAt))}` : ''
    const counts = [
      `${count(entries)} entries up to ${count(sequence)}${until}`,
      ...(erased > 0 ? [`${count(erased)} erased`] : []),
      ...(adopted > 0 ? [`${count(adopted)} older than the chain`] : []),
    ]
    const owner = workspaceId === NIL_UUID ? 'Whole database' : `Workspace ${workspaceId}`
    const found = faultCount === 0 ? 'sound' : counted(faultCount, 'FAULT')
    return [
      `${owner}: ${counts.join(', ')}: ${found}`,
      ...faults.map((fault) => `  ${describeFault(fault)}`),
      ...(faultCount > faults.length ? [`  … and ${count(faultCount - faults.length)} more`] : []),
    ]
  })
  if (chains.length === 0) lines.push('The chain is empty.')
  if (waiting > 0) lines.push(`${count(waiting)} entries are not chained yet. A running server chains them in seconds.`)
  if (!isKeyKnown && chains.length > 0) {
    lines.push('A replaced signing key is detected only with --public-key: give your own copy of the public key.')
  }
  return lines.join('\n')
}

function describeFault({ kind, sequence, toSequence, id, message }: ChainFault): string {
  const place =
    sequence === undefined
      ? ''
      : ` ${sequence}${toSequence === undefined || toSequence === sequence ? '' : `-${toSequence}`}`
  return `${kind}${place}${id === undefined ? '' : ` (${id})`}: ${message}`
}
