import { Flags } from '@oclif/core'
import { listFlags, listPages, moreHint } from '../../cli/arguments/list.ts'
import { rawCellsFlag } from '../../cli/bulk/spreadsheet-cells.ts'
import { terminalWidth } from '../../cli/command/base-command.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { count, writeOut } from '../../cli/command/output.ts'
import { passFilterFlags, passQuery } from '../../cli/pass-list/filters.ts'

export default class PassList extends ClientCommand {
  static override summary = 'List passes, newest first.'
  static override description =
    'Different filters must all hold; the values of one that is repeated are alternatives. How many there are stands ' +
    'on stderr. --all writes page after page, in constant memory; with --json one pass a line.'
  static override examples = [
    { description: 'Find somebody', command: '<%= config.bin %> pass list --search lovelace' },
    {
      description: 'The door list of a day',
      command: '<%= config.bin %> pass list --status ISSUED --valid-on 2027-05-31 --no-redeemed --all --csv > door.csv',
    },
    {
      description: 'Passes on an old version of a template, for a script',
      command:
        '<%= config.bin %> pass list --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --template-version lte:2 --all --json',
    },
  ]
  static override flags = {
    ...passFilterFlags,
    ...listFlags,
    csv: Flags.boolean({ summary: 'Write CSV, with the links and the variables as JSON.', exclusive: ['json'] }),
    'raw-cells': rawCellsFlag,
  }

  async run() {
    const { flags } = await this.parse(PassList)
    const pages = listPages(this.connect(flags).passes.list, passQuery(flags), flags)
    const isWhole = this.jsonEnabled() && !flags.all
    const write = isWhole ? undefined : await this.#format(flags)
    let shown = 0
    for await (const page of pages) {
      shown += page.items.length
      if (write && !(await writeOut(write(page.items)))) return undefined
      if (!flags.all) {
        this.note(moreHint(page) ?? countOf(page.total))
        return isWhole ? page : undefined
      }
    }
    this.note(countOf(shown))
    return undefined
  }

  async #format({ csv, 'raw-cells': rawCells }: { csv: boolean; 'raw-cells': boolean }) {
    if (this.jsonEnabled()) return (await import('../../cli/arguments/list.ts')).jsonLines
    const { passesCsv, tableFormat } = await import('../../cli/pass-list/formats.ts')
    return csv ? passesCsv({ rawCells }) : tableFormat(terminalWidth())
  }
}

function countOf(passes: number): string {
  return `${count(passes)} ${passes === 1 ? 'pass' : 'passes'}`
}
