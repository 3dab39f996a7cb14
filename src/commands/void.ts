import { Flags } from '@oclif/core'
import { BulkCommand, bulkArgs, bulkFlags } from '../cli/bulk/bulk-command.ts'
import { confirm } from '../cli/command/prompt.ts'

export default class Void extends BulkCommand {
  static override summary = 'Void the pass of each row of a CSV file, irreversibly.'
  static override description =
    'Rows find their pass by its external ID. The column "reason" is sent to webhooks; other columns are ignored. A ' +
    'void pass counts as done. Asks for confirmation; without a terminal, --yes is required.\n\n' +
    'A journal next to the file (FILE.csv.journal) records the progress. Stop with Ctrl-C; run the same command ' +
    'again to resume. Exits with 0 if every pass is void, and with 1 if a row failed.'
  static override examples = [
    {
      description: 'Show rows that have a pass, and change nothing',
      command: '<%= config.bin %> void refunds.csv --dry-run',
    },
    {
      description: 'One reason for all, in a script',
      command: '<%= config.bin %> void refunds.csv --reason refunded --failures failures.csv --yes',
    },
  ]
  static override args = bulkArgs
  static override flags = {
    ...bulkFlags,
    reason: Flags.string({ summary: 'Reason for rows without one, up to 255 characters.' }),
    'reason-column': Flags.string({ summary: 'Column of the reason (reason, if there is one).' }),
    'dry-run': Flags.boolean({ summary: 'Find every pass, and void none.', default: false }),
    yes: Flags.boolean({ summary: 'Skip the confirmation.' }),
    concurrency: Flags.integer({ summary: 'Concurrent requests.', default: 8, min: 1, max: 16 }),
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
