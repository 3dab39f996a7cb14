import { Flags } from '@oclif/core'
import { BulkCommand, bulkArgs, bulkFlags, groupColumnFlag } from '../cli/bulk/bulk-command.ts'
import { templateVersionFlag } from '../cli/template/template-version.ts'

export default class Update extends BulkCommand {
  static override summary = 'Update the pass of each row of a CSV file.'
  static override description =
    'Rows find their pass by its external id. A column "label" changes the label, every other column the variable of ' +
    'the same name. An empty cell means not given: the pass keeps what it has. A cell with just \\N removes the ' +
    'variable, which then falls back to the default of its template. A column of images may name files in the folder ' +
    'of the list, which are uploaded once each. A column "error" is ignored, since failures ' +
    'files have one.\n\n' +
    'A journal beside the file (FILE.csv.journal) says how far the run has come. Stop it with Ctrl-C and call the same ' +
    'command again: it goes on where it was. Exit code 0: every pass is updated; 1: a row failed.'
  static override examples = [
    {
      description: 'See what would fail, and change nothing',
      command: '<%= config.bin %> update balances.csv --dry-run',
    },
    {
      description: 'Set failing rows aside, mend them, and feed them back',
      command: '<%= config.bin %> update balances.csv --failures failures.csv',
    },
    {
      description: 'Bring every pass of a list to the newest version of its template',
      command: '<%= config.bin %> update ids.csv --external-id-column ticket --template-version latest',
    },
  ]
  static override args = bulkArgs
  static override flags = {
    ...bulkFlags,
    'label-column': Flags.string({ summary: "Column of the holder's name (label, where there is one)." }),
    'group-column': groupColumnFlag,
    'unset-marker': Flags.string({ summary: 'A cell with just this removes the variable.', default: '\\N' }),
    'template-version': templateVersionFlag({ summary: 'Upgrade every pass to this published version.' }),
    'dry-run': Flags.boolean({ summary: 'Ask the server about every row and change nothing.', default: false }),
    notify: Flags.boolean({
      summary: 'Make Android phones ring for fields with a changeMessage, as iPhones do; at most 3 times in 24 hours.',
      default: false,
    }),
    concurrency: Flags.integer({ summary: 'Passes in flight at once.', default: 8, min: 1, max: 16 }),
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
