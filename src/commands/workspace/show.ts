import { terminalWidth } from '../../cli/command/base-command.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { details, localTimeOr } from '../../cli/command/output.ts'
import { showLimits } from '../../cli/records.ts'

export default class WorkspaceShow extends ClientCommand {
  static override summary = 'Show the workspace of the token with its limits and usage.'
  static override description = 'Asks the server. An operator changes limits with workspace limits, on the database.'
  static override examples = [
    '<%= config.bin %> workspace show',
    '<%= config.bin %> workspace show --profile production --json',
  ]

  async run() {
    const { flags } = await this.parse(WorkspaceShow)
    const workspace = await this.connect(flags).workspace.get()
    const { id, name, expiresAt, limits, usage } = workspace
    const facts = details([
      ['Workspace', id],
      ['Name', name],
      ['Ends', expiresAt === undefined ? null : localTimeOr(expiresAt, 'never')],
    ])
    // A token that is bound to projects receives no limits.
    this.log(limits && usage ? `${facts}\n\n${showLimits(limits, usage, terminalWidth())}` : facts)
    return workspace
  }
}
