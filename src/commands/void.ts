import { Flags } from '@oclif/core'
import { BulkCommand, bulkArgs, bulkFlags } from '../cli/bulk/bulk-command.ts'
import { confirm } from '../cli/command/prompt.ts'

export default class Void extends BulkCommand {
  static override summary = 'Void the pass of each row of a CSV file, for good.'
  static override description =
    'Rows find their pass by its external id; a column "reason" is passed on to webhooks, other columns are ignored. A ' +
    'pass that is void already counts as done. Asks first; elsewhere give --yes.\n\n' +
    'A journal beside the file (FILE.csv.journal) says how far the run has come. Stop it with Ctrl-C and call the same ' +
    'command again: it goes on where it was. Exit code 0: every pass is void; 1: a row failed.'
  static override examples = [
    {
      description: 'See which rows have a pass, and change nothing',
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
    reason: Flags.string({ summary: 'Reason for rows that give none, up to 255 characters.' }),
    'reason-column': Flags.string({ summary: 'Column of the reason (reason, where there is one).' }),
    'dry-run': Flags.boolean({ summary: 'Look for every pass and void none.', default: false }),
    yes: Flags.boolean({ summary: 'Do it without asking.' }),
    concurrency: Flags.integer({ summary: 'Passes in flight at once.', default: 8, min: 1, max: 16 }),
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
