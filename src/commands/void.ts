import { Flags } from '@oclif/core'
import { concurrencyFlag, skipFlag } from '../cli/arguments/list-flags.ts'
import { BulkCommand, bulkArgs, bulkFlags } from '../cli/bulk/bulk-command.ts'
import { confirm } from '../cli/command/prompt.ts'

export default class Void extends BulkCommand {
  static override summary = 'Void the pass of each row of a CSV file, irreversibly.'
  static override description =
    'The external ID of a row selects the pass. The column "reason" is sent to webhooks; other columns are ignored. A ' +
    'row whose pass is already void counts as done. Asks for confirmation; without a terminal, --yes is required.\n\n' +
    'A journal next to the file (FILE.csv.journal) records the progress. Stop with Ctrl-C; run the same command ' +
    'again to resume. Exits with 0 if every pass is void, and with 1 if a row failed.'
  static override examples = [
    {
      description: 'Show how many rows have a pass, and change nothing',
      command: '<%= config.bin %> void refunds.csv --dry-run',
    },
    {
      description: 'Void all passes with the same reason, in a script',
      command: '<%= config.bin %> void refunds.csv --reason refunded --failures failures.csv --yes',
    },
  ]
  static override args = bulkArgs
  static override flags = {
    ...bulkFlags,
    reason: Flags.string({ summary: 'Reason for rows without a reason, up to 255 characters.' }),
    'reason-column': Flags.string({ summary: 'Column with the reason (default: reason, if it exists).' }),
    'dry-run': Flags.boolean({ summary: 'Find the pass of each row, and void none.', default: false }),
    yes: skipFlag,
    concurrency: concurrencyFlag,
  }

  async run() {
    const { args, flags } = await this.parse(Void)
    const yes = flags.yes || flags['dry-run']
    await confirm(`Void the pass of every row of ${args.file}?`, { yes, noInput: flags['no-input'] })
    const { voidAction } = await import('../cli/changes/void-action.ts')
    const action = voidAction({
      externalIdColumn: flags['external-id-column'],
      reasonColumn: flags['reason-column'],
      reason: flags.reason,
      dryRun: flags['dry-run'],
      concurrency: flags.concurrency,
    })
    return this.runFile(action, { file: args.file, flags })
  }
}
