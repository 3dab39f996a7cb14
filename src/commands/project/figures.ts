import { Flags } from '@oclif/core'
import { namedArg } from '../../cli/arguments/id-argument.ts'
import { pastFlag } from '../../cli/arguments/list-flags.ts'
import { terminalWidth } from '../../cli/command/base-command.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { writeOut } from '../../cli/command/output.ts'
import { bucketUnits } from '../../core/contract/common.ts'

export default class ProjectFigures extends ClientCommand {
  static override summary = 'Show figures of a project over time.'
  static override description =
    'Prints one line per figure, with its sum and its course. --figure draws one figure, --table and --csv write all ' +
    'values.'
  static override examples = [
    { description: 'The last 30 days', command: '<%= config.bin %> project figures "Polyglot 2027"' },
    {
      description: 'Admissions per hour',
      command: '<%= config.bin %> project figures "Polyglot 2027" --by hour --from 12h --figure scans.valid',
    },
    { description: 'For a spreadsheet', command: '<%= config.bin %> project figures "Polyglot 2027" --csv' },
  ]
  static override args = { id: namedArg('project') }
  static override flags = {
    by: Flags.option({
      summary: 'Hours, days, weeks, or months (day).',
      options: bucketUnits,
      default: 'day' as const,
    })(),
    from: pastFlag('Start: 2027-05-31T00:00:00Z, or 12h for twelve hours ago (30 days ago).'),
    to: pastFlag('End (now).'),
    zone: Flags.string({ summary: 'Time zone, such as Europe/Berlin (that of this computer).' }),
    figure: Flags.string({
      summary: 'Draw only this figure: issued, installed.apple, scans.valid.',
      exclusive: ['table', 'csv', 'json'],
    }),
    table: Flags.boolean({ summary: 'One line per bucket.', exclusive: ['csv', 'json'] }),
    csv: Flags.boolean({ summary: 'Write CSV.', exclusive: ['json'] }),
  }

  async run() {
    const { args, flags } = await this.parse(ProjectFigures)
    const zone = flags.zone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone
    const from = flags.from ?? new Date(Date.now() - 30 * 86_400_000).toISOString()
    const query = { by: flags.by, from, zone, ...(flags.to && { to: flags.to }) }
    const figures = await this.connect(flags).projects.figures({ params: { id: args.id }, query })
    const { drawFigure, figuresCsv, figuresTable, sparklines } = await import('../../cli/figures-output.ts')
    const width = terminalWidth()
    if (flags.csv) await writeOut(figuresCsv(figures))
    else if (flags.figure) this.log(drawFigure(figures, flags.figure, { zone, width }))
    else this.log(flags.table ? figuresTable(figures, { zone, width }) : sparklines(figures, width))
    return figures
  }
}
