import { Flags } from '@oclif/core'
import { filterFlag, listFlags, repeatable } from '../../cli/arguments/list-flags.ts'
import { parseDuration } from '../../cli/arguments/moment.ts'
import { named } from '../../cli/arguments/named.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { count, counted } from '../../cli/command/output.ts'
import type { ListShape } from '../../cli/list/shape.ts'
import { platforms } from '../../core/contract/schemas/platform.ts'
import type { Freshness, WalletItem } from '../../core/contract/wallets.ts'

const shape: ListShape<WalletItem> = {
  columns: [
    { name: 'passId', title: 'pass', kind: 'id' },
    { name: 'externalPassId', title: 'external id' },
    ['platform', 'device', 'holds', 'current'],
    { name: 'since', kind: 'time' },
    { name: 'changedAt', kind: 'time', title: 'pass changed' },
    { name: 'lastPushAt', kind: 'time', title: 'last push', none: 'never' },
    ['reason', 'lastError'],
  ],
  table: ['externalPassId', 'platform', 'holds', 'current', 'lastPushAt', 'reason'],
  wide: ['externalPassId', 'platform', 'device', 'holds', 'current', 'since', 'lastPushAt', 'reason', 'lastError'],
}

export default class WalletsList extends ClientCommand {
  static override summary = 'List wallets with the pass version that they have.'
  static override description =
    'The reason of an outdated wallet is not_pushed (it was not notified yet), refused (the platform rejected the ' +
    'notification), silent (it was notified, but did not fetch the pass), or behind (the pass has changed again since ' +
    'it was fetched). The last line, and `freshness` with --json, show whether 99.9 % of reachable phones get a change ' +
    'within 5 minutes.'
  static override examples = [
    {
      description: 'List wallets that have been outdated for an hour',
      command: '<%= config.bin %> wallets list --stale --older-than 1h',
    },
    { description: 'List all wallets, for a script', command: '<%= config.bin %> wallets list --all --json' },
  ]
  static override flags = {
    stale: Flags.boolean({ summary: 'Only outdated wallets; with --no-stale, only others.', allowNo: true }),
    'older-than': Flags.string({
      summary: 'Only wallets whose pass has not changed for at least this time, such as 15m, 1h, or 2d.',
      dependsOn: ['stale'],
    }),
    project: named('project', filterFlag('Only wallets with passes of this project.')),
    platform: Flags.option({
      summary: 'Only wallets of this platform. Repeatable.',
      options: platforms,
      ...repeatable,
    })(),
    ...listFlags,
  }

  async run() {
    const { flags } = await this.parse(WalletsList)
    const olderThan = flags['older-than']
    const query = {
      projectId: flags.project,
      platform: flags.platform,
      stale: flags.stale,
      ...(olderThan !== undefined && { olderThan: parseDuration(olderThan, '--older-than') }),
    }
    const { wallets } = this.connect(flags)
    const page = await this.showPages({
      list: wallets.list,
      shape,
      flags,
      noun: ['wallet', 'wallets'],
      empty: 'Guests add passes by their hosted links. To see the links of a pass, run "passes pass get".',
      query,
    })
    const freshness = await wallets.slo({ query: { projectId: flags.project } })
    this.note(describeFreshness(freshness))
    return page && { ...page, freshness }
  }
}

function describeFreshness({ phones, late, refused, share, isMet, ...target }: Freshness): string {
  const within = `within ${target.withinSeconds / 60} minutes`
  if (share === null) return `Freshness: no reachable phone (objective ${percent(target.objective)} ${within})`
  const counts = `${count(late)} late, ${count(refused)} refused, of ${counted(phones, 'phone')}`
  const outcome = isMet ? 'met' : 'missed'
  return `Freshness: ${percent(share)} of reachable phones have the last version ${within}: ${outcome} (objective ${percent(target.objective)}; ${counts})`
}

/** Rounds down. If it rounded up, a share just below the objective would be shown as equal to the objective. */
function percent(share: number): string {
  return `${Math.floor(share * 10_000 + 1e-6) / 100} %`
}
