import { Flags } from '@oclif/core'
import { concurrencyFlag } from '../cli/arguments/list-flags.ts'
import { notifyFlag } from '../cli/arguments/pass-argument.ts'
import { BulkCommand, bulkArgs, bulkFlags, groupColumnFlag } from '../cli/bulk/bulk-command.ts'
import { templateVersionFlag } from '../cli/template/template-version.ts'

export default class Update extends BulkCommand {
  static override summary = 'Update the pass of each row of a CSV file.'
  static override description =
    'The external ID of a row selects the pass. The column "label" changes the label; every other column changes the ' +
    'variable of the same name. An empty cell keeps the current value. A cell with only \\N removes the variable; ' +
    'the default of the template then applies. Cells of an image variable can contain names of files in the folder ' +
    'of the CSV file; each file is uploaded once. The column "error" of a file from --failures is ignored.\n\n' +
    'A journal next to the file (FILE.csv.journal) records the progress. Stop with Ctrl-C; run the same command ' +
    'again to resume. Exits with 0 if every pass is updated, and with 1 if a row failed.'
  static override examples = [
    {
      description: 'Show rows that would fail, and change nothing',
      command: '<%= config.bin %> update balances.csv --dry-run',
    },
    {
      description: 'Write failed rows to a file that you can correct and run again',
      command: '<%= config.bin %> update balances.csv --failures failures.csv',
    },
    {
      description: 'Upgrade every pass of a file to the newest version of its template',
      command: '<%= config.bin %> update ids.csv --external-id-column ticket --template-version latest',
    },
  ]
  static override args = bulkArgs
  static override flags = {
    ...bulkFlags,
    'label-column': Flags.string({
      summary: 'Column with the label, which is the name of the holder (default: label, if it exists).',
    }),
    'group-column': groupColumnFlag,
    'unset-marker': Flags.string({ summary: 'Content of a cell that removes the variable.', default: '\\N' }),
    'template-version': templateVersionFlag({ summary: 'Published version to which every pass is upgraded.' }),
    'dry-run': Flags.boolean({ summary: 'Let the server check every row, and change nothing.', default: false }),
    notify: notifyFlag,
    concurrency: concurrencyFlag,
  }

  async run() {
    const { args, flags } = await this.parse(Update)
    const { updateAction } = await import('../cli/changes/update-action.ts')
    const action = updateAction({
      file: args.file,
      externalIdColumn: flags['external-id-column'],
      labelColumn: flags['label-column'],
      groupColumn: flags['group-column'],
      unsetMarker: flags['unset-marker'],
      templateVersion: flags['template-version'],
      dryRun: flags['dry-run'],
      notify: flags.notify,
      concurrency: flags.concurrency,
    })
    return this.runFile(action, { file: args.file, flags })
  }
}
