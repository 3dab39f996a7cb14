import { statSync } from 'node:fs'
import { Flags } from '@oclif/core'
import { parseOut } from '../cli/arguments/list-flags.ts'
import { named } from '../cli/arguments/named.ts'
import { BulkCommand, batchFlags, bulkArgs, bulkFlags } from '../cli/bulk/bulk-command.ts'
import { UsageError } from '../cli/command/cli-error.ts'
import { count } from '../cli/command/output.ts'

export default class Import extends BulkCommand {
  static override summary = 'Import the passes of another provider from a CSV file.'
  static override description =
    'Phones keep their passes. The columns externalPassId and label are required. Optional columns: for Apple, ' +
    'serialNumber, authenticationToken, passTypeIdentifier, and devices (deviceLibraryIdentifier:pushToken, ' +
    'separated by spaces); for Google, googleObjectId (ISSUER.NAME); for both, scanPayload (the content of the ' +
    'barcode), status (ISSUED or VOID), groupKey, and template (key or ID; overrides --template). Every other column ' +
    'is a variable. In column names, case, spaces, underscores, and hyphens are ignored. To create such a file from ' +
    '.pkpass files, run "passes packages".\n\n' +
    'Each row counts as created, present (the same row was imported before), differs (the pass was imported with ' +
    'other content), or failed. Before the first change, a plan shows the number and the first rows of each outcome; ' +
    'in a terminal, you must confirm it. The import emits no event. Phones are notified with the next update.\n\n' +
    'A journal next to the file (FILE.csv.journal) records the progress, and prevents concurrent runs. Stop with ' +
    'Ctrl-C; run the same command again to resume. Exits with 0 if every row has its pass, and with 1 if a row ' +
    'failed or differs.'
  static override examples = [
    {
      description: 'Show the outcome of each row, and change nothing',
      command: '<%= config.bin %> import members.csv --template member-card --identity acme --dry-run',
    },
    {
      description: 'Import the passes, and write failed rows to a file',
      command: '<%= config.bin %> import members.csv --template member-card --identity acme --failures failures.csv',
    },
    {
      description: 'Use the serial number as the external ID, and take the template of each row from the file',
      command: '<%= config.bin %> import all.csv --external-id-column serialNumber --identity acme --yes',
    },
  ]
  static override args = bulkArgs
  static override flags = {
    template: named('template', Flags.string({ summary: 'Template (key, name, or ID) for rows without a template.' })),
    identity: named(
      'identity',
      Flags.string({ summary: 'Apple or Google identity of the passes (default: as for a new pass).' }),
    ),
    ...bulkFlags,
    out: Flags.string({
      summary: 'Output file: the input rows with pass IDs. With - (stdout), the command keeps no journal.',
      parse: parseOut,
    }),
    ...batchFlags,
  }

  async run() {
    const { args, flags } = await this.parse(Import)
    if (flags['dry-run'] && flags.out) throw new UsageError('--dry-run creates no passes: omit --out')
    if (statSync(args.file, { throwIfNoEntry: false })?.isDirectory()) {
      const hint = `to convert .pkpass files, run: passes packages ${args.file} --out passes.csv`
      throw new UsageError(`${args.file} is a folder, not a CSV file`, { hint })
    }
    const { importAction } = await import('../cli/import/import-action.ts')
    const options = {
      templateId: flags.template,
      identityId: flags.identity,
      externalIdColumn: flags['external-id-column'],
      labelColumn: flags['label-column'],
      concurrency: flags.concurrency,
    }
    const planned = importAction({ ...options, dryRun: true })
    const called = { file: args.file, flags }
    if (flags['dry-run']) return this.runFile(planned, called)
    const question = ({ created }: { created: number }) =>
      created > 0 ? `About to import ${count(created)} passes. Continue?` : undefined
    return this.runFile(importAction({ ...options, dryRun: false }), { ...called, plan: { action: planned, question } })
  }
}
