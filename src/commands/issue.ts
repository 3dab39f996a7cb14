import { Flags } from '@oclif/core'
import { requiredFlag } from '../cli/arguments/id-argument.ts'
import { existingFlag } from '../cli/arguments/pass-argument.ts'
import { BulkCommand, bulkArgs, bulkFlags, groupColumnFlag } from '../cli/bulk/bulk-command.ts'
import { UsageError } from '../cli/command/errors.ts'
import { count } from '../cli/command/output.ts'
import type { IssueOutcome } from '../cli/issue/outcomes.ts'

export default class Issue extends BulkCommand {
  static override summary = 'Issue a pass for each row of a CSV file.'
  static override description =
    'Every column but those of the external id and the label is a variable of the same name; an empty cell means not ' +
    'given. The delimiter may be a comma, a semicolon or a tab. Rows are checked against the template before they are ' +
    'sent, and failing ones set aside. A column of images holds their ids, or names files in the folder of the list, ' +
    'which are uploaded once each. Names of columns match whatever their case, spaces and underscores. UTF-8 and ' +
    'UTF-16 are read; a workbook (.xlsx) is to be saved as CSV first.\n\n' +
    'Each row is counted: created; present (the pass was there, and is what the row says); updated; differs; void; ' +
    'failed. A pass that differs from its row, or is void, makes the row fail, with the columns that differ, and its links ' +
    'go to nobody. --existing keep is content with such passes; --existing update changes those that differ, where an ' +
    'empty cell removes the variable. A variable without a column is neither compared nor changed. Before an update a plan ' +
    'is shown: how many rows come to what, and the first of each. On a terminal it asks; --yes goes on.\n\n' +
    'A journal beside the file (FILE.csv.journal) says how far the run has come, and keeps a second run away. Stop it ' +
    'with Ctrl-C and call the same command again: it goes on where it was. Exit code 0: every row has its pass; 1: a row ' +
    'failed.'
  static override examples = [
    {
      description: 'See what each row would come to, and change nothing',
      command: '<%= config.bin %> issue attendees.csv --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --dry-run',
    },
    {
      description: 'Issue a file and get the links for a mailing',
      command: '<%= config.bin %> issue attendees.csv --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --out links.csv',
    },
    {
      description: 'Set failing rows aside, mend them, and feed them back',
      command:
        '<%= config.bin %> issue attendees.csv --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --failures failures.csv',
    },
    {
      description: 'The list has changed: make new passes, and change those that differ',
      command:
        '<%= config.bin %> issue attendees.csv --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --existing update',
    },
    {
      description: 'From a pipe into a mailing',
      command: 'zcat members.csv.gz | <%= config.bin %> issue - --template member --out - | ./mail-links',
    },
  ]
  static override args = bulkArgs
  static override flags = {
    template: requiredFlag('template'),
    ...bulkFlags,
    'label-column': Flags.string({ summary: "Column of the holder's name.", default: 'label' }),
    'group-column': groupColumnFlag,
    out: Flags.string({
      summary: 'Write the input with the pass id and its links to this file; - writes to stdout, without a journal.',
    }),
    existing: existingFlag,
    yes: Flags.boolean({ summary: 'Do not ask about the plan of an update.' }),
    'dry-run': Flags.boolean({ summary: 'Ask what each row would come to, and change nothing.', default: false }),
    concurrency: Flags.integer({ summary: 'Batches of 100 in flight at once.', default: 4, min: 1, max: 16 }),
  }

  async run() {
    const { args, flags } = await this.parse(Issue)
    if (flags['dry-run'] && flags.out) throw new UsageError('--dry-run makes no links for --out')
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
  return acts.length > 0 ? `About to ${acts.join(' and ')}. Go on?` : undefined
}

const CHOICES =
  'Passes that differ are as they were: --existing update makes them what their rows say, --existing keep is content.'
