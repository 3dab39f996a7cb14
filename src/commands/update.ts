import { Flags } from '@oclif/core'
import { BulkCommand, bulkArgs, bulkFlags, groupColumnFlag } from '../cli/bulk/bulk-command.ts'
import { templateVersionFlag } from '../cli/template/template-version.ts'

export default class Update extends BulkCommand {
  static override summary = 'Update the pass of each row of a CSV file.'
  static override description =
    'Rows find their pass by its external ID. The column "label" changes the label, every other column the variable ' +
    'of the same name. An empty cell keeps the current value. A cell with only \\N removes the variable, which then ' +
    'has the default of its template. An image column can contain names of files in the folder of the list, which ' +
    'are uploaded once each. A column "error", as in failures files, is ignored.\n\n' +
    'A journal next to the file (FILE.csv.journal) records the progress. Stop with Ctrl-C; run the same command ' +
    'again to resume. Exits with 0 if every pass is updated, and with 1 if a row failed.'
  static override examples = [
    {
      description: 'Show rows that would fail, and change nothing',
      command: '<%= config.bin %> update balances.csv --dry-run',
    },
    {
      description: 'Write failed rows to a file, fix them, and use it',
      command: '<%= config.bin %> update balances.csv --failures failures.csv',
    },
    {
      description: 'Upgrade every pass of a list to the newest version of its template',
      command: '<%= config.bin %> update ids.csv --external-id-column ticket --template-version latest',
    },
  ]
  static override args = bulkArgs
  static override flags = {
    ...bulkFlags,
    'label-column': Flags.string({ summary: "Column of the holder's name (label, if there is one)." }),
    'group-column': groupColumnFlag,
    'unset-marker': Flags.string({ summary: 'A cell with only this text removes the variable.', default: '\\N' }),
    'template-version': templateVersionFlag({ summary: 'Upgrade every pass to this published version.' }),
    'dry-run': Flags.boolean({ summary: 'Check every row on the server, and change nothing.', default: false }),
    notify: Flags.boolean({
      summary: 'Make Android phones ring for fields with a changeMessage, as iPhones do; at most 3 times in 24 hours.',
      default: false,
    }),
    concurrency: Flags.integer({ summary: 'Concurrent requests.', default: 8, min: 1, max: 16 }),
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
