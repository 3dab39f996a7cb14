import { Flags } from '@oclif/core'
import { parseEnd } from '../../cli/arguments/moment.ts'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { madeDatabase } from '../../cli/operator.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'

export default class WorkspaceCreate extends BaseCommand {
  static override summary = 'Create a workspace.'
  static override description = 'A workspace sees only its own projects, templates, passes, and webhooks.'
  static override examples = [
    '<%= config.bin %> workspace create --name acme',
    '<%= config.bin %> workspace create --name acme --expires 2027-01-01 --json',
  ]
  static override flags = {
    ...databaseFlags,
    name: Flags.string({ summary: 'Name, unique on this server.', required: true }),
    expires: Flags.string({ summary: 'Expiry: a date, a date-time, or "in 30d"; never by default.' }),
  }

  async run() {
    const { flags } = await this.parse(WorkspaceCreate)
    const { databaseToMake, insertWorkspace, OperatorError, withNewStore } = await import(
      '../../server/operator/operator.ts'
    )
    const now = new Date()
    const options = { expiresAt: flags.expires === undefined ? null : parseEnd(flags.expires, now) }
    const newFile = databaseToMake(flags.database)
    const workspace = await withNewStore(flags.database, (store) => insertWorkspace(store, flags.name, now, options))
    if (!workspace) throw new OperatorError(`Workspace ${flags.name} already exists.`)
    if (newFile) this.note(madeDatabase(newFile))
    this.log(
      `Created workspace ${workspace.name} (${workspace.id}). Next: passes token create --workspace ${workspace.name} --name …`,
    )
    return workspace
  }
}
