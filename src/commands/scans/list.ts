import { listFlags, listPages, moreHint } from '../../cli/arguments/list.ts'
import { terminalWidth } from '../../cli/command/base-command.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { count, writeOut } from '../../cli/command/output.ts'
import { scanFilterFlags, scanQuery } from '../../cli/scan-list/filters.ts'
import { passIdsOf } from '../../cli/scan-list/passes.ts'

export default class ScansList extends ClientCommand {
  static override summary = 'List the ledger of scans, newest first.'
  static override description =
    'Every attempt stands there, accepted or not. Different filters must all hold; the values of one that is repeated ' +
    'are alternatives. --all writes page after page, in constant memory; with --json one scan a line. For files use ' +
    'scans export.'
  static override examples = [
    { description: 'Who was turned away', command: '<%= config.bin %> scans list --result denied' },
    {
      description: 'Everything that became of a ticket',
      command: '<%= config.bin %> scans list --pass T-1 --external --all',
    },
  ]
  static override flags = { ...scanFilterFlags, ...listFlags }

  async run() {
    const { flags } = await this.parse(ScansList)
    const client = this.connect(flags)
    const pages = listPages(client.scans.list, scanQuery(flags, await passIdsOf(client, flags)), flags)
    const isWhole = this.jsonEnabled() && !flags.all
    const write = isWhole ? undefined : await this.#format()
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

  async #format() {
    if (this.jsonEnabled()) return (await import('../../cli/arguments/list.ts')).jsonLines
    return (await import('../../cli/scan-list/formats.ts')).scansTable(terminalWidth())
  }
}

function countOf(scans: number): string {
  return `${count(scans)} ${scans === 1 ? 'scan' : 'scans'}`
}
