import { statSync } from 'node:fs'
import { Flags } from '@oclif/core'
import { named } from '../cli/arguments/named.ts'
import { BulkCommand, bulkArgs, bulkFlags } from '../cli/bulk/bulk-command.ts'
import { UsageError } from '../cli/command/errors.ts'
import { count } from '../cli/command/output.ts'

export default class Import extends BulkCommand {
  static override summary = 'Take over the passes of another provider from a CSV file.'
  static override description =
    'Phones that hold them go on as they are. Columns, each of which may be missing: serialNumber, authenticationToken and ' +
    'passTypeIdentifier (Apple), googleObjectId (with its issuer), scanPayload (what scanners read), status (ISSUED or ' +
    'VOID), devices (deviceLibraryIdentifier:pushToken, several with spaces between), groupKey, and template (its key or ' +
    'id, before --template). externalPassId and label are needed; every other column is a variable. Names of columns ' +
    'match whatever their case, spaces and underscores. passes packages makes such a file of .pkpass files.\n\n' +
    'Each row is counted: created; present (the same row was imported before, and nothing changes); differs (it was, with ' +
    'other content); failed. First a plan is shown: how many rows come to what, and the first of each. On a terminal it ' +
    'asks; --yes goes on. No event is fired, and no phone is told before the next update.\n\n' +
    'A journal beside the file (FILE.csv.journal) says how far the run has come, and keeps a second run away. Stop it ' +
    'with Ctrl-C and call the same command again: it goes on where it was. Exit code 0: every row has its pass; 1: a row ' +
    'failed or differs.'
  static override examples = [
    {
      description: 'See what each row would come to, and change nothing',
      command: '<%= config.bin %> import members.csv --template member-card --identity acme --dry-run',
    },
    {
      description: 'Take over, and set rows that fail aside',
      command: '<%= config.bin %> import members.csv --template member-card --identity acme --failures failures.csv',
    },
    {
      description: 'The serial number is your own key, and rows name their templates',
      command: '<%= config.bin %> import all.csv --external-id-column serialNumber --identity acme --yes',
    },
  ]
  static override args = bulkArgs
  static override flags = {
    template: named('template', Flags.string({ summary: 'Template of rows that name none: its key, name or id.' })),
    identity: named(
      'identity',
      Flags.string({
        summary: 'Identity of Apple or of Google that the passes are of; that of new passes by default.',
      }),
    ),
    ...bulkFlags,
    'label-column': Flags.string({ summary: "Column of the holder's name.", default: 'label' }),
    out: Flags.string({
      summary: 'Write the input with the ids of the passes to this file; - writes to stdout, without a journal.',
    }),
    yes: Flags.boolean({ summary: 'Do not ask about the plan.' }),
    'dry-run': Flags.boolean({ summary: 'Ask what each row would come to, and change nothing.', default: false }),
    concurrency: Flags.integer({
      summary: 'Requests of up to 100 rows in flight at once.',
      default: 4,
      min: 1,
      max: 16,
    }),
  }

  async run() {
    const { args, flags } = await this.parse(Import)
    if (flags['dry-run'] && flags.out) throw new UsageError('--dry-run makes no passes for --out')
    if (statSync(args.file, { throwIfNoEntry: false })?.isDirectory()) {
      const hint = `of a folder of .pkpass files make one first: passes packages ${args.file} --out passes.csv`
      throw new UsageError(`${args.file} is a folder, and no CSV file`, { hint })
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
      created > 0 ? `About to take over ${count(created)} passes. Go on?` : undefined
    return this.runFile(importAction({ ...options, dryRun: false }), { ...called, plan: { action: planned, question } })
  }
}
