import { Args, Flags } from '@oclif/core'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'
import { platforms } from '../../core/contract/platform.ts'

export default class IdentityUse extends BaseCommand {
  static override summary = 'Make an identity the default of a workspace or a project.'
  static override description =
    'For the passes that are made from then on: each belongs to the identities that it was made under for good. From then on the ' +
    'workspace may give it to its projects, too (PATCH /v1/projects/{id}). A retired one makes passes again. The name server takes the default away: a project ' +
    'then has that of its workspace, and a workspace what the flags of passes serve give; passes identity retire --workspace lets it give ' +
    'the identity to no project either.'
  static override examples = [
    '<%= config.bin %> identity use acme --workspace acme',
    '<%= config.bin %> identity use acme-google --workspace agency --project "Acme fair"',
    '<%= config.bin %> identity use server --workspace acme --platform apple',
  ]
  static override args = { name: Args.string({ description: 'Name of the identity, or server.', required: true }) }
  static override flags = {
    ...databaseFlags,
    workspace: Flags.string({ summary: 'Name or id of the workspace.', default: 'default' }),
    project: Flags.string({ summary: 'Name or id of a project; the workspace itself where left out.' }),
    platform: Flags.option({ options: platforms })({
      summary: 'For server: only of this platform.',
    }),
  }

  async run() {
    const { args, flags } = await this.parse(IdentityUse)
    const { database: databaseUrl, workspace, project, platform } = flags
    const { setDefaultIdentity } = await import('../../server/operator/identities.ts')
    const used = await setDefaultIdentity({ databaseUrl }, args.name, { workspace, project, platform, at: new Date() })
    const where = used.project === null ? `the workspace ${used.workspace}` : `the project ${used.project}`
    this.log(`New passes of ${where} are made under ${used.name} (${used.platforms.join(', ')}).`)
    return used
  }
}
