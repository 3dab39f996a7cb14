import { Args, Flags } from '@oclif/core'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'
import { platforms } from '../../core/contract/platform.ts'

export default class IdentityUse extends BaseCommand {
  static override summary = 'Make an identity the default of a workspace or a project.'
  static override description =
    'Applies to new passes: each pass keeps its identities permanently. The workspace can then also assign the ' +
    'identity to its projects (PATCH /v1/projects/{id}). A retired identity becomes active again. The name server ' +
    'removes the default: a project then uses that of its workspace, and a workspace the flags of passes serve. To ' +
    'also prevent its use by projects, run passes identity retire --workspace.'
  static override examples = [
    '<%= config.bin %> identity use acme --workspace acme',
    '<%= config.bin %> identity use acme-google --workspace agency --project "Acme fair"',
    '<%= config.bin %> identity use server --workspace acme --platform apple',
  ]
  static override args = { name: Args.string({ description: 'Name of the identity, or server.', required: true }) }
  static override flags = {
    ...databaseFlags,
    workspace: Flags.string({ summary: 'Name or ID of the workspace.', default: 'default' }),
    project: Flags.string({ summary: 'Name or ID of a project; by default the workspace itself.' }),
    platform: Flags.option({ options: platforms })({
      summary: 'For server: only this platform.',
    }),
  }

  async run() {
    const { args, flags } = await this.parse(IdentityUse)
    const { database: databaseUrl, workspace, project, platform } = flags
    const { setDefaultIdentity } = await import('../../server/operator/manage-identities.ts')
    const used = await setDefaultIdentity({ databaseUrl }, args.name, { workspace, project, platform, at: new Date() })
    const where = used.project === null ? `the workspace ${used.workspace}` : `the project ${used.project}`
    this.log(`New passes of ${where} use ${used.name} (${used.platforms.join(', ')}).`)
    return used
  }
}
