import { Args } from '@oclif/core'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'

export default class WorkspaceOfflineScanning extends BaseCommand {
  static override summary = 'Allow or forbid offline scanning in a workspace.'
  static override description =
    'Allowed by default. If it is off, door lists and offline reports return 403 SCANNER_OFFLINE_DISABLED within two ' +
    'seconds; devices keep scans that they have not uploaded. Online scanning continues.'
  static override examples = [
    '<%= config.bin %> workspace offline-scanning acme off',
    '<%= config.bin %> workspace offline-scanning acme on --database sqlite:./data/passes.db',
  ]
  static override args = {
    workspace: Args.string({ description: 'Name or ID of the workspace.', required: true }),
    state: Args.string({ description: 'on or off.', options: ['on', 'off'], required: true }),
  }
  static override flags = databaseFlags

  async run() {
    const { args, flags } = await this.parse(WorkspaceOfflineScanning)
    const { setOfflineScanning } = await import('../../server/operator/operator.ts')
    const workspace = await setOfflineScanning(flags.database, args.workspace, {
      allowed: args.state === 'on',
      at: new Date(),
    })
    this.log(`Scanning offline is ${workspace.offlineScanning ? 'allowed' : 'forbidden'} in ${workspace.name}.`)
    return workspace
  }
}
