import { filterFlag } from '../../cli/arguments/list.ts'
import { named } from '../../cli/arguments/named.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { count, details } from '../../cli/command/output.ts'

export default class WalletsSlo extends ClientCommand {
  static override summary = 'Say how many phones hold the last version in time.'
  static override description =
    'The objective: of phones that can be reached 99.9 % hold the last version of their passes within 5 minutes.'
  static override examples = [
    '<%= config.bin %> wallets slo',
    '<%= config.bin %> wallets slo --project "Polyglot 2027" --json',
  ]
  static override flags = { project: named('project', filterFlag('Only phones with passes of this project.')) }

  async run() {
    const { flags } = await this.parse(WalletsSlo)
    const slo = await this.connect(flags).wallets.slo({ query: { projectId: flags.project } })
    const within = `${slo.withinSeconds / 60} minutes`
    this.log(
      details([
        ['Phones', count(slo.phones)],
        ['Hold the last version', count(slo.current)],
        [`Changed within ${within}`, count(slo.settling)],
        [`Behind for over ${within}`, count(slo.late)],
        ['Refused by Apple', count(slo.refused)],
        ['Objective', `${percent(slo.objective)} within ${within}`],
        ['Now', slo.share === null ? 'no phones' : `${percent(slo.share)}: ${slo.isMet ? 'met' : 'missed'}`],
      ]),
    )
    return slo
  }
}

/** Rounds down, so that a missed target never looks met. */
function percent(share: number): string {
  return `${Math.floor(share * 10_000 + 1e-6) / 100} %`
}
