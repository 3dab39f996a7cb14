import { Args, Flags } from '@oclif/core'
import type { ClientOptions } from '../../client/client.ts'
import { parseOut, rawCellsFlag, skipFlag } from '../arguments/list-flags.ts'
import { CliError, InterruptedError, UsageError } from '../command/cli-error.ts'
import { ClientCommand, PATIENT_ATTEMPTS } from '../command/client-command.ts'
import { forceFlag } from '../command/existing-file.ts'
import { count } from '../command/output.ts'
import { commandLine, onInterrupt } from '../command/program.ts'
import { eraseInterrupted } from '../command/progress.ts'
import { canAsk, confirm, isReadOnce } from '../command/prompt.ts'
import type { ConnectionFlags } from '../settings/settings.ts'
import type { BulkSummary } from './bulk-file.ts'
import type { RowAction } from './row-action.ts'

export const groupColumnFlag = Flags.string({ summary: 'Column with the group key (default: groupKey, if it exists).' })

/** The flags of commands that create passes in requests of many rows. */
export const batchFlags = {
  'label-column': Flags.string({
    summary: 'Column with the label, which is the name of the holder.',
    default: 'label',
  }),
  yes: skipFlag,
  'dry-run': Flags.boolean({ summary: 'Show the outcome of each row, and change nothing.', default: false }),
  concurrency: Flags.integer({
    summary: 'Concurrent requests (1-16), each with up to 100 rows.',
    default: 4,
    min: 1,
    max: 16,
  }),
}

export const bulkArgs = {
  file: Args.string({
    description: 'CSV file with a header line. With -, the command reads stdin, and keeps no journal of the progress.',
    required: true,
  }),
}

export const bulkFlags = {
  'external-id-column': Flags.string({
    summary: 'Column with the external ID, which is your key of a pass.',
    default: 'externalPassId',
  }),
  failures: Flags.string({
    summary:
      'Output file: the failed rows and their errors, as input for another run. With - (stdout), the command keeps no ' +
      'journal.',
    parse: parseOut,
  }),
  restart: Flags.boolean({ summary: 'Ignore the journal of an earlier run, and start with the first row.' }),
  force: forceFlag,
  'raw-cells': rawCellsFlag,
}

export interface BulkFlags extends ConnectionFlags {
  failures?: string | undefined
  restart: boolean
  force: boolean
  'raw-cells': boolean
  'dry-run': boolean
  out?: string | undefined
  yes?: boolean
  'no-input'?: boolean
}

interface BulkCall<Name extends string> {
  file: string
  flags: BulkFlags
  /**
   * The preview of a new run, which the user confirms on a terminal. There is no preview for a pipe, because a pipe
   * cannot be read twice.
   */
  plan?: {
    // biome-ignore lint/suspicious/noExplicitAny: the rows of a plan can have another type than the rows of the run
    action: RowAction<any, Name>
    /** Returns the question to confirm; `undefined` if nothing would change. */
    question: (counts: Record<Name, number>) => string | undefined
  }
}

/** Base class of commands that process each row of a CSV file. Users can stop and resume them at any time. */
export abstract class BulkCommand extends ClientCommand {
  protected async runFile<Item, Name extends string>(
    action: RowAction<Item, Name>,
    { file, flags, plan }: BulkCall<Name>,
  ) {
    const toStdout = (['out', 'failures'] as const).filter((name) => flags[name] === '-').map((name) => `--${name} -`)
    if (this.jsonEnabled()) toStdout.unshift('--json')
    if (toStdout.length > 1) throw new UsageError(`Only one of ${toStdout.join(' and ')} can write to stdout`)
    const { canHaveJournal, runFile, showErrors, showFirst, showSummary, usesStdout } = await import('./bulk-file.ts')
    const goOn = goOnWith(flags, { hasJournal: canHaveJournal({ ...flags, file }) })
    using stop = onInterrupt(
      () => {
        eraseInterrupted()
        this.note('Stopping: waiting for requests in flight (Ctrl-C again to stop immediately)')
      },
      () => {
        eraseInterrupted()
        this.note(`Stopped immediately; ${goOn}`)
      },
    )
    let hasBegun = false
    try {
      const client = this.connect(flags)
      const options = {
        file,
        server: this.connection!.url.value,
        out: flags.out,
        failures: flags.failures,
        dryRun: flags['dry-run'],
        restart: flags.restart,
        force: flags.force,
        rawCells: flags['raw-cells'],
        stop: stop.signal,
        client,
        sender: (onRetry: ClientOptions['onRetry']) => {
          hasBegun = true
          return this.connect(flags, { attempts: PATIENT_ATTEMPTS, ...(onRetry && { onRetry }) })
        },
        note: (message: string) => this.note(message),
      }
      const review = async () => {
        // Suppress notes and files here, because the run after the review writes them.
        const silent = { out: undefined, failures: undefined, note: () => undefined }
        const { summary, outcomes } = await runFile(plan!.action, { ...options, ...silent, dryRun: true })
        if (!summary.complete) return
        this.note(`${showSummary(summary, outcomes)}\n\n${showFirst(summary, outcomes)}\n`)
        const question = plan!.question(summary.counts)
        const noInput = flags['no-input'] === true
        if (question && canAsk({ noInput })) await confirm(question, { noInput, yes: flags.yes === true })
      }
      const isReviewed = plan !== undefined && !isReadOnce(file)
      const { summary, outcomes } = await runFile(action, { ...options, review: isReviewed ? review : undefined })
      if (!summary.complete) {
        throw new InterruptedError(`Stopped: ${count(summary.rows)} rows are done`, {
          hint: goOn,
          details: { ...flatten(summary), command: repeat() },
        })
      }
      const print = (text: string) => (usesStdout(flags) ? this.note(text) : this.log(text))
      print(showSummary(summary, outcomes))
      if (summary.dryRun) print(`\n${showFirst(summary, outcomes)}`)
      else if (summary.errors.length > 0) this.note(showErrors(summary))
      if (summary.failing > 0) process.exitCode = 1
      return flatten(summary)
    } catch (error) {
      if (hasBegun && !(error instanceof CliError)) this.note(`When the error is fixed, ${goOn}`)
      throw error
    }
  }
}

function flatten<Name extends string>({ counts, failing, first, ...summary }: BulkSummary<Name>) {
  return { ...summary, ...counts, ...(summary.dryRun && { first }) }
}

function goOnWith({ out = '-', failures = '-', force }: BulkFlags, { hasJournal }: { hasJournal: boolean }): string {
  if (hasJournal) return `resume with: ${repeat()}`
  // Without a journal, the repeated run replaces the files that this run wrote.
  const replaces = !force && (out !== '-' || failures !== '-')
  return `send the same input again (nothing is done twice): ${repeat()}${replaces ? ' --force' : ''}`
}

/** Returns the command line that repeats this call, without `--restart`, which would discard the completed rows. */
function repeat(): string {
  return commandLine({ without: ['--restart'] })
}
