import { Args, Flags } from '@oclif/core'
import { parseEnd } from '../../cli/arguments/moment.ts'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { localTime } from '../../cli/command/output.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'

export default class WorkspaceUpdate extends BaseCommand {
  static override summary = 'Set the expiry of a workspace.'
  static override description =
    'After it, its tokens return 403 TENANT_EXPIRED and its jobs wait; nothing is deleted. A later time, or never, ' +
    'makes them work again within two seconds.'
  static override examples = [
    '<%= config.bin %> workspace update acme --expires 2027-01-01',
    '<%= config.bin %> workspace update acme --expires never --json',
  ]
  static override args = { workspace: Args.string({ description: 'Name or ID of the workspace.', required: true }) }
  static override flags = {
    ...databaseFlags,
    expires: Flags.string({
      summary: 'A date (from its start in UTC), a date-time, "in 30d", or never.',
      required: true,
    }),
  }

  async run() {
    const { args, flags } = await this.parse(WorkspaceUpdate)
    const at = new Date()
    const expiresAt = parseEnd(flags.expires, at)
    const { setExpiry } = await import('../../server/operator/operator.ts')
    const workspace = await setExpiry(flags.database, args.workspace, { expiresAt, at })
    this.log(expiresAt ? `${workspace.name} expires at ${localTime(expiresAt)}.` : `${workspace.name} never expires.`)
    return workspace
  }
}
