import { Flags } from '@oclif/core'
import { parseDuration } from '../../cli/arguments/moment.ts'
import { named } from '../../cli/arguments/named.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { count } from '../../cli/command/output.ts'

export default class WalletsNudge extends ClientCommand {
  static override summary = 'Push again to phones that did not fetch a change.'
  static override description =
    'Only for Apple: Google is retried automatically. A device is not pushed within ten minutes of its last nudge, ' +
    'and at most --limit are pushed; run it again for more.'
  static override examples = [
    '<%= config.bin %> wallets nudge --silent-for 1h',
    '<%= config.bin %> wallets nudge --project "Polyglot 2027" --limit 100 --json',
  ]
  static override flags = {
    project: named('project', Flags.string({ summary: 'Only phones with passes of this project.' })),
    'silent-for': Flags.string({ summary: 'Time since the last push: 10m, 1h, 2d (1h).', default: '1h' }),
    limit: Flags.integer({ summary: 'Maximum number of devices, up to 1,000 (1000).', min: 1, max: 1000 }),
  }

  async run() {
    const { flags } = await this.parse(WalletsNudge)
    const silentFor = parseDuration(flags['silent-for'], '--silent-for')
    const body = {
      silentFor,
      ...(flags.project && { projectId: flags.project }),
      ...(flags.limit && { limit: flags.limit }),
    }
    const nudged = await this.connect(flags).wallets.nudge({ body })
    this.log(
      nudged.devices === 0
        ? 'No phone needs another push.'
        : `Pushing ${count(nudged.devices)} devices again, for ${count(nudged.passes)} passes.`,
    )
    return nudged
  }
}
