import { Flags } from '@oclif/core'
import { terminalWidth } from '../../cli/command/base-command.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { showStats, showStatsByGate, showStatsByProject } from '../../cli/records.ts'
import { ledgerFlags, ledgerQuery } from '../../cli/scan-list/filters.ts'
import type { ScanStatsByGate, ScanStatsByProject } from '../../core/contract/scans.ts'

export default class ScansStats extends ClientCommand {
  static override summary = 'Count scans, and passes redeemed and open.'
  static override description = 'Open passes are those without an accepted scan in the filter that was not taken back.'
  static override examples = [
    '<%= config.bin %> scans stats --project 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --context 2027-05-31',
    '<%= config.bin %> scans stats --group-by project --json',
    '<%= config.bin %> scans stats --group-by gate --from 2027-05-31T08:00:00Z',
  ]
  static override flags = {
    ...ledgerFlags,
    'context-from': Flags.string({
      summary: 'Contexts from this one on, by their order as text.',
      exclusive: ['context'],
    }),
    'context-until': Flags.string({ summary: 'Contexts up to this one.', exclusive: ['context'] }),
    'group-by': Flags.option({
      summary: 'The figures of each project, or of each gate.',
      options: ['project', 'gate'] as const,
    })(),
  }

  async run() {
    const { flags } = await this.parse(ScansStats)
    const stats = await this.connect(flags).scans.stats({
      query: {
        ...ledgerQuery(flags),
        scanContextFrom: flags['context-from'],
        scanContextUntil: flags['context-until'],
        groupBy: flags['group-by'],
      },
    })
    if (!('items' in stats)) this.log(showStats(stats))
    else if (isByGate(stats)) this.log(showStatsByGate(stats, terminalWidth()))
    else this.log(showStatsByProject(stats, terminalWidth()))
    return stats
  }
}

function isByGate(stats: ScanStatsByProject | ScanStatsByGate): stats is ScanStatsByGate {
  return stats.items.some((item) => 'gate' in item)
}
