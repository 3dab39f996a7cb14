import { Flags } from '@oclif/core'
import { filterFlag, listFlags, listPages } from '../../cli/arguments/list.ts'
import { named } from '../../cli/arguments/named.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { doorsShape } from '../../cli/door/show.ts'

export default class DoorList extends ClientCommand {
  static override summary = 'List doors, newest first.'
  static override description =
    'Phones that claimed an invitation: when each was last seen, and how many scans it decided without the network and ' +
    'has still to report. Those that were revoked or are past their 30 days stay in it.'
  static override examples = [
    { description: 'Who scans now', command: '<%= config.bin %> door list --project "Spring fair" --no-revoked' },
    { description: 'Every one, for a script', command: '<%= config.bin %> door list --all --json' },
  ]
  static override flags = {
    project: named('project', filterFlag('Only those of this project.')),
    revoked: Flags.boolean({ summary: 'Revoked, or with --no-revoked not.', allowNo: true }),
    ...listFlags,
  }

  async run() {
    const { flags } = await this.parse(DoorList)
    const query = { projectId: flags.project, revoked: flags.revoked }
    return this.showList({
      pages: listPages(this.connect(flags).doors.list, query, flags),
      shape: doorsShape,
      flags,
      noun: ['door', 'doors'],
      empty: 'Next: passes door invite',
      query,
    })
  }
}
