import { Args, Flags } from '@oclif/core'
import { ClientCommand } from '../cli/client-command.ts'
import { CliError, InterruptedError, UsageError } from '../cli/errors.ts'
import { onInterrupt } from '../cli/interrupt.ts'
import { count } from '../cli/output.ts'
import { commandLine } from '../cli/program.ts'

/** Tries for a batch before the run gives up: about 40 s, which outlasts a restart of the server. */
const ATTEMPTS = 12

export default class Issue extends ClientCommand {
  static override summary = 'Issue a pass for each row of a CSV file.'
  static override description =
    'Every column but those of the external id and the label is a variable of the same name; an empty cell means not ' +
    'given. The delimiter may be a comma, a semicolon or a tab. Rows are checked against the template before they are ' +
    'sent, and failing ones set aside.\n\n' +
    'A journal beside the file (FILE.csv.journal) says how far the run has come. Stop it with Ctrl-C and call the same ' +
    'command again: it goes on where it was. Exit code 0: every row has its pass; 1: a row failed.'
  static override examples = [
    {
      description: 'Issue a file and get the links for a mailing',
      command: '<%= config.bin %> issue attendees.csv --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --out links.csv',
    },
    {
      description: 'Set failing rows aside, mend them, and feed them back',
      command:
        '<%= config.bin %> issue attendees.csv --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --failures failures.csv',
    },
    {
      description: 'Check every row and send nothing, from a pipe',
      command:
        'zcat members.csv.gz | <%= config.bin %> issue - --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --dry-run',
    },
  ]
  static override args = {
    file: Args.string({
      description: 'CSV file with a header line; - reads stdin, without a journal.',
      required: true,
    }),
  }
  static override flags = {
    template: Flags.string({ summary: 'Id of a template with a published version.', required: true }),
    'external-id-column': Flags.string({ summary: 'Column of your own key of a pass.', default: 'externalPassId' }),
    'label-column': Flags.string({ summary: "Column of the holder's name.", default: 'label' }),
    out: Flags.string({ summary: 'Write the input with the pass id and its links to this file.' }),
    failures: Flags.string({ summary: 'Write the failing rows with their error to this file, ready to be fed back.' }),
    'dry-run': Flags.boolean({ summary: 'Check every row and send nothing.' }),
    concurrency: Flags.integer({ summary: 'Batches of 100 in flight at once.', default: 4, min: 1, max: 16 }),
    restart: Flags.boolean({ summary: 'Forget the journal and begin with the first row.' }),
  }

  async run() {
    const { args, flags } = await this.parse(Issue)
    if (flags['dry-run'] && flags.out) throw new UsageError('--dry-run makes no links for --out')
    const stop = new AbortController()
    const release = onInterrupt(() => {
      stop.abort()
      this.note('\nStopping: waiting for the batches in flight (Ctrl-C again to stop at once)')
    })
    let hasBegun = false
    try {
      const { issueFile } = await import('../cli/issue/issue-file.ts')
      const { showErrors, showSummary } = await import('../cli/issue/summary.ts')
      const client = this.connect(flags)
      const summary = await issueFile({
        file: args.file,
        templateId: flags.template,
        server: this.connection!.url.value,
        externalIdColumn: flags['external-id-column'],
        labelColumn: flags['label-column'],
        out: flags.out,
        failures: flags.failures,
        dryRun: flags['dry-run'],
        concurrency: flags.concurrency,
        restart: flags.restart,
        stop: stop.signal,
        client,
        sender: (onRetry) => {
          hasBegun = true
          return this.connect(flags, { attempts: ATTEMPTS, onRetry })
        },
        note: (message) => this.note(message),
      })
      if (!summary.complete) {
        throw new InterruptedError(`Stopped: ${count(summary.rows)} rows are done`, {
          hint: goOn(args.file),
          details: { ...summary, command: repeat() },
        })
      }
      this.log(showSummary(summary))
      if (summary.errors.length > 0) this.note(showErrors(summary))
      if (summary.failed > 0) process.exitCode = 1
      return summary
    } catch (error) {
      if (hasBegun && !(error instanceof CliError)) this.note(`When it is mended, ${goOn(args.file)}`)
      throw error
    } finally {
      release()
    }
  }
}

function goOn(file: string): string {
  return file === '-' ? `send the same input again (no pass is made twice): ${repeat()}` : `go on with: ${repeat()}`
}

/** With --restart the next run would begin anew. */
function repeat(): string {
  return commandLine({ without: ['--restart'] })
}
