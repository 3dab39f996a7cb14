import { Flags } from '@oclif/core'
import { terminalWidth } from '../../cli/command/base-command.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { showByTime } from '../../cli/figures-output.ts'
import { showStats, showStatsByGate, showStatsByProject } from '../../cli/records.ts'
import { ledgerFlags, ledgerQuery } from '../../cli/scan-list/filters.ts'
import { bucketUnits } from '../../core/contract/common.ts'
import type { ScanStatsByGate, ScanStatsByProject, ScanStatsByTime } from '../../core/contract/scans.ts'

export default class ScansStats extends ClientCommand {
  static override summary = 'Count scans, and passes redeemed and open.'
  static override description = 'Open passes have no accepted scan that matches the filter and was not reversed.'
  static override examples = [
    '<%= config.bin %> scans stats --project 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --context 2027-05-31',
    '<%= config.bin %> scans stats --group-by project --json',
    '<%= config.bin %> scans stats --group-by gate --from 2027-05-31T08:00:00Z',
    '<%= config.bin %> scans stats --by hour --from 2027-05-31T00:00:00Z --to 2027-06-01T00:00:00Z --gate North',
  ]
  static override flags = {
    ...ledgerFlags,
    'context-from': Flags.string({
      summary: 'Contexts from this one, in text order.',
      exclusive: ['context'],
    }),
    'context-until': Flags.string({ summary: 'Contexts up to this one, in text order.', exclusive: ['context'] }),
    'group-by': Flags.option({
      summary: 'Group by project or gate.',
      options: ['project', 'gate'] as const,
    })(),
    by: Flags.option({
      summary: 'Count attempts per hour, day, week, or month; needs --from, and excludes scans at --to.',
      options: bucketUnits,
      exclusive: ['group-by'],
      dependsOn: ['from'],
    })(),
    zone: Flags.string({
      summary: 'With --by, the time zone, such as Europe/Berlin; by default that of this computer.',
      dependsOn: ['by'],
    }),
    gate: Flags.string({
      summary: 'With --by, only scans at this gate. Repeatable.',
      dependsOn: ['by'],
      multiple: true,
      multipleNonGreedy: true,
    }),
  }

  async run() {
    const { flags } = await this.parse(ScansStats)
    const zone = flags.by && (flags.zone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone)
    const stats = await this.connect(flags).scans.stats({
      query: {
        ...ledgerQuery(flags),
        scanContextFrom: flags['context-from'],
        scanContextUntil: flags['context-until'],
        groupBy: flags['group-by'],
        by: flags.by,
        zone,
        gate: flags.gate,
      },
    })
    if (!('items' in stats)) this.log(showStats(stats))
    else if (isByGate(stats)) this.log(showStatsByGate(stats, terminalWidth()))
    else if (isByTime(stats)) this.log(showByTime(stats, zone!, terminalWidth()))
    else this.log(showStatsByProject(stats, terminalWidth()))
    return stats
  }
}

function isByGate(stats: ScanStatsByProject | ScanStatsByGate | ScanStatsByTime): stats is ScanStatsByGate {
  return stats.items.some((item) => 'gate' in item)
}

function isByTime(stats: ScanStatsByProject | ScanStatsByTime): stats is ScanStatsByTime {
  return stats.items.some((item) => 'at' in item)
}
