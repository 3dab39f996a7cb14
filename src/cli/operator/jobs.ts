import { Args, Flags } from '@oclif/core'
import type { ChainName } from '../../core/rules/evidence/chain.ts'
import { formerly, outFlag } from '../arguments/list-flags.ts'
import { UsageError } from '../command/cli-error.ts'
import { forceFlag, requireReplaceable } from '../command/existing-file.ts'
import { counted, writeOut } from '../command/output.ts'
import { localCommand, type ResourceCommands } from '../command/resource-command.ts'
import { knownFlags, readKnown, showChains, verifyFile } from '../evidence/verify-chain.ts'
import { databaseFlags } from '../settings/server-flags.ts'

const jobArgs = { id: Args.string({ description: 'ID of the job, as in "passes jobs list".' }) }

const jobFlags = {
  ...databaseFlags,
  all: Flags.boolean({ summary: 'Select all discarded and quarantined jobs.' }),
  workspace: Flags.string({ summary: 'With --all: only one workspace (name or ID).', dependsOn: ['all'] }),
}

const failedJobs = () => import('../../server/operator/failed-jobs.ts')
const verifyChains = () => import('../../server/operator/verify-chains.ts')

export const commands: ResourceCommands = {
  'jobs:retry': localCommand({
    summary: 'Retry discarded or quarantined jobs.',
    description:
      'Accesses the database directly; running servers start the jobs within a second. If a job set its pass to ' +
      'FAILED, the status of the pass becomes QUEUED again. With --all, passes that could not be signed also become ' +
      'QUEUED. A retried update of a wallet emits pass.updated with changedFields manual_requeue. A quarantined job ' +
      'runs alone. If the worker process stops during this run, the job is quarantined again.',
    examples: ['jobs retry 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27', 'jobs retry --all --workspace acme'],
    args: jobArgs,
    flags: jobFlags,
    async run({ args, flags }) {
      const { retryJobs, withFailedJobs } = await failedJobs()
      const retried = await withFailedJobs(flags.database, namedJobs(args.id, flags), (store, filter) =>
        retryJobs(store, filter, new Date()),
      )
      return { retried }
    },
    print: ({ retried }) => `${counted(retried, 'job is', 'jobs are')} due again.`,
  }),
  'jobs:delete': localCommand({
    summary: 'Delete discarded or quarantined jobs.',
    description:
      'Accesses the database directly, not through a server. The work of a deleted job is never done, and its pass ' +
      'does not change: if the job set its pass to FAILED, the pass remains FAILED. A later update of the pass ' +
      'queues a new job.',
    examples: ['jobs delete 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27', 'jobs delete --all --workspace acme'],
    args: jobArgs,
    flags: jobFlags,
    async run({ args, flags }) {
      const { deleteJobs, withFailedJobs } = await failedJobs()
      const deleted = await withFailedJobs(flags.database, namedJobs(args.id, flags), (store, filter) =>
        deleteJobs(store, filter, new Date()),
      )
      return { deleted }
    },
    print: ({ deleted }) => `Deleted ${counted(deleted, 'job')}.`,
  }),
  ...evidenceCommands('audit', 'the audit log'),
  ...evidenceCommands('scans', 'the ledger of scans'),
}

/** @throws UsageError if neither an ID nor `--all` is given, or both are */
function namedJobs(
  id: string | undefined,
  { all = false, workspace }: { all?: boolean; workspace?: string | undefined },
) {
  if ((id === undefined) !== all) throw new UsageError('Give the ID of a job, or --all.')
  return { id, workspace }
}

function evidenceCommands(chain: ChainName, what: string): ResourceCommands {
  return {
    [`${chain}:prove`]: localCommand({
      summary: `Write ${what} with its proof, for "passes ${chain} verify" on another machine.`,
      description:
        'Accesses the database directly, not through a server. Writes JSON lines: the head of the chain with its ' +
        'signature, the signed hourly heads, and each entry with its digest. The file contains the personal data of ' +
        'the entries.',
      examples: [
        `${chain} prove --workspace acme --out ${chain}.jsonl`,
        `${chain} prove --database sqlite:/srv/passes/passes.sqlite --out ${chain}.jsonl`,
      ],
      flags: {
        ...databaseFlags,
        workspace: Flags.string({ summary: 'Workspace (name or ID).', default: 'default' }),
        out: outFlag('Output file, which only its owner can read', formerly('output')),
        force: forceFlag,
      },
      hasJson: false,
      async run({ flags }) {
        requireReplaceable(flags.out, flags.force)
        await (await verifyChains()).writeProof(chain, flags, writeOut)
      },
      note: (_, { flags }) => (flags.out === undefined ? undefined : `The proof was written to ${flags.out}`),
    }),
    [`${chain}:verify`]: localCommand({
      summary: `Verify that no entry of ${what} was changed, removed, or inserted.`,
      description:
        `Verifies the database or, on any machine, a file that "passes ${chain} prove" wrote. Lists problems, and ` +
        'exits with 1 if there are any. See docs/guides/evidence.md.',
      examples: [
        `${chain} verify`,
        `${chain} verify --json > kept.json`,
        {
          description: 'Also detect whether the database was replaced by an older copy',
          command: `${chain} verify --kept kept.json --workspace acme --public-key ledger.pem`,
        },
        `${chain} verify ${chain}.jsonl --public-key ledger.pem`,
      ],
      args: {
        file: Args.string({ description: `File that "passes ${chain} prove" wrote (default: verify the database).` }),
      },
      flags: {
        ...databaseFlags,
        workspace: Flags.string({ summary: 'Only this workspace (name or ID; default: all).' }),
        ...knownFlags,
      },
      async run({ args, flags }) {
        const known = await readKnown(flags)
        const { chains, waiting } =
          args.file === undefined
            ? await (await verifyChains()).verifyDatabase(chain, { ...flags, ...known })
            : { chains: [await verifyFile(args.file, chain, known)], waiting: 0 }
        const isSound = chains.every(({ faultCount }) => faultCount === 0)
        if (!isSound) process.exitCode = 1
        return { isSound, waiting, chains }
      },
      print: (result, { flags }) => showChains(result, { isKeyKnown: flags['public-key'] !== undefined }),
    }),
  }
}
