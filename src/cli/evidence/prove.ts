import { Flags } from '@oclif/core'
import type { ChainName } from '../../core/rules/evidence/chain.ts'
import { openPrivate } from '../../files/private-file.ts'
import { writeOut } from '../command/output.ts'
import { databaseFlags } from '../settings/server-flags.ts'

/** The flags of prove. */
export const proveFlags = {
  ...databaseFlags,
  workspace: Flags.string({ summary: 'Of this workspace (name or id).', default: 'default' }),
  output: Flags.string({ summary: 'File to write, which only you can read; stdout where it is left out.' }),
}

/** What the flags of prove say. */
interface ProveOptions {
  database: string
  workspace: string
  output?: string | undefined
}

/** Writes a chain with its proof to a file that only its owner reads, or to stdout. @throws OperatorError */
export async function writeProof(chain: ChainName, { database, workspace, output }: ProveOptions): Promise<void> {
  const { withStore } = await import('../../server/operator/operator.ts')
  const { proveChain } = await import('../../server/operator/verify-chains.ts')
  await withStore(database, async (store) => {
    let file: Awaited<ReturnType<typeof openPrivate>> | undefined
    try {
      for await (const text of proveChain(store, { workspace, chain })) {
        if (output !== undefined) file ??= await openPrivate(output, 'w')
        await (file ? file.appendFile(text) : writeOut(text))
      }
      await file?.sync()
    } finally {
      await file?.close()
    }
  })
}
