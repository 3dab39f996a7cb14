import { Flags } from '@oclif/core'
import { parseOut } from '../cli/arguments/list-flags.ts'
import { requiredFlag } from '../cli/arguments/named.ts'
import { existingFlag } from '../cli/arguments/pass-argument.ts'
import { BulkCommand, batchFlags, bulkArgs, bulkFlags, groupColumnFlag } from '../cli/bulk/bulk-command.ts'
import { UsageError } from '../cli/command/cli-error.ts'
import { count } from '../cli/command/output.ts'
import type { IssueOutcome } from '../cli/issue/outcomes.ts'

export default class Issue extends BulkCommand {
  static override summary = 'Issue a pass for each row of a CSV file.'
  static override description =
    'Every column except the external ID, the label, and the group key is a variable of the same name. An empty cell ' +
    'means no value. The delimiter is a comma, a semicolon, or a tab. Rows are checked against the template before ' +
    'they are sent, and invalid rows are left out. Cells of an image variable contain image IDs, or names of files ' +
    'in the folder of the CSV file; each file is uploaded once. In column names, case, spaces, underscores, and ' +
    'hyphens are ignored. The file must be UTF-8 or UTF-16; save a workbook (.xlsx) as CSV first.\n\n' +
    'Each row counts as created, present (the pass exists and equals the row), updated, differs, void, or failed. If ' +
    'the pass differs or is void, the row fails and gets no links; the error lists the differing columns. With ' +
    '--existing keep, the row does not fail, but still gets no links. --existing update changes passes that differ, ' +
    'and removes variables whose cell is empty. Before the first change, a plan shows the number and the first rows ' +
    'of each outcome; in a terminal, you must confirm it. A variable without a column is neither compared nor ' +
    'changed.\n\n' +
    'A journal next to the file (FILE.csv.journal) records the progress, and prevents concurrent runs. Stop with ' +
    'Ctrl-C; run the same command again to resume. Exits with 0 if every row has its pass, and with 1 if a row ' +
    'failed.'
  static override examples = [
    {
      description: 'Show the outcome of each row, and change nothing',
      command: '<%= config.bin %> issue attendees.csv --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --dry-run',
    },
    {
      description: 'Issue the passes, and write their links to a file for a mailing',
      command: '<%= config.bin %> issue attendees.csv --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --out links.csv',
    },
    {
      description: 'Write failed rows to a file that you can correct and issue',
      command:
        '<%= config.bin %> issue attendees.csv --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --failures failures.csv',
    },
    {
      description: 'Issue a changed list: create new passes, and update those that differ',
      command:
        '<%= config.bin %> issue attendees.csv --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --existing update',
    },
    {
      description: 'Read rows from a pipe, and pass the links to another program',
      command: 'zcat members.csv.gz | <%= config.bin %> issue - --template member --out - | ./mail-links',
    },
  ]
  static override args = bulkArgs
  static override flags = {
    template: requiredFlag('template'),
    ...bulkFlags,
    'group-column': groupColumnFlag,
    out: Flags.string({
      summary: 'Output file: input rows with pass IDs and links. With - (stdout), the command keeps no journal.',
      parse: parseOut,
    }),
    existing: existingFlag,
    ...batchFlags,
  }

  async run() {
    const { args, flags } = await this.parse(Issue)
    if (flags['dry-run'] && flags.out) throw new UsageError('--dry-run creates no links: omit --out')
    const options = {
      file: args.file,
      templateId: flags.template,
      externalIdColumn: flags['external-id-column'],
      labelColumn: flags['label-column'],
      groupColumn: flags['group-column'],
      existing: flags.existing,
      concurrency: flags.concurrency,
    }
    const { issueAction, planAction } = await import('../cli/issue/issue-action.ts')
    const called = { file: args.file, flags }
    const plan = flags.existing === 'update' ? { action: planAction(options), question } : undefined
    const summary = flags['dry-run']
      ? await this.runFile(planAction(options), called)
      : await this.runFile(issueAction(options), { ...called, ...(plan && { plan }) })
    if (!flags.existing && summary.differs > 0) this.note(CHOICES)
    return { templateId: flags.template, ...summary }
  }
}

function question({ created = 0, updated = 0, valid = 0 }: Partial<Record<IssueOutcome, number>>): string | undefined {
  const acts = [
    created > 0 ? `create ${count(created)}` : null,
    updated > 0 ? `update ${count(updated)}` : null,
    valid > 0 ? `create or update ${count(valid)}` : null,
  ].filter((act) => act !== null)
  return acts.length > 0 ? `About to ${acts.join(' and ')}. Continue?` : undefined
}

const CHOICES =
  'Passes that differ are unchanged: use --existing update to change them, or --existing keep to accept them.'
