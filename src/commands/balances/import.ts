import { Flags } from '@oclif/core'
import { concurrencyFlag } from '../../cli/arguments/list-flags.ts'
import { BulkCommand, bulkArgs, bulkFlags } from '../../cli/bulk/bulk-command.ts'

export default class BalancesImport extends BulkCommand {
  static override summary = 'Add the entry of each row of a CSV file to the balance of a pass.'
  static override description =
    'The external ID of a row selects the pass. The column "balance" contains the name of the balance, "delta" the ' +
    'change as a whole number (minor units of a currency), "externalRef" the key of the entry, and "reason" an ' +
    'optional text; other columns are ignored. A balance has one entry per key, so a row that was added before counts ' +
    'as present. Rows of the same pass are added in the order of the file.\n\n' +
    'A journal next to the file (FILE.csv.journal) records the progress. Stop with Ctrl-C; run the same command ' +
    'again to resume. Exits with 0 if every entry exists, and with 1 if a row failed.'
  static override examples = [
    {
      description: 'Show rows that would fail, and change nothing',
      command: '<%= config.bin %> balances import points.csv --dry-run',
    },
    {
      description: 'Add the rows of a file without a column for the balance, and write failed rows to a file',
      command: '<%= config.bin %> balances import points.csv --balance points --failures failures.csv',
    },
  ]
  static override args = bulkArgs
  static override flags = {
    ...bulkFlags,
    balance: Flags.string({ summary: 'Name of the balance for rows without one.' }),
    'dry-run': Flags.boolean({ summary: 'Check every row, find its pass, and add no entry.', default: false }),
    concurrency: concurrencyFlag,
  }

  async run() {
    const { args, flags } = await this.parse(BalancesImport)
    const { entriesAction } = await import('../../cli/changes/entries-action.ts')
    const action = entriesAction({
      externalIdColumn: flags['external-id-column'],
      balance: flags.balance,
      dryRun: flags['dry-run'],
      concurrency: flags.concurrency,
    })
    return this.runFile(action, { file: args.file, flags })
  }
}
