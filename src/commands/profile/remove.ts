import { Args, Flags } from '@oclif/core'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { confirm } from '../../cli/command/prompt.ts'
import { readProfiles, removeProfile, requireProfile } from '../../cli/settings/profile.ts'
import { profileInUse } from '../../cli/settings/settings.ts'

export default class ProfileRemove extends BaseCommand {
  static override summary = 'Remove a profile and its token from this machine.'
  static override description =
    'The token remains valid: passes token revoke ends it on the server. Asks for confirmation; without a terminal, ' +
    '--yes is required.'
  static override examples = [
    '<%= config.bin %> profile remove staging',
    '<%= config.bin %> profile remove staging --yes --json',
  ]
  static override args = { name: Args.string({ description: 'Name of the profile.', required: true }) }
  static override flags = { yes: Flags.boolean({ summary: 'Skip the confirmation.' }) }

  async run() {
    const { args, flags } = await this.parse(ProfileRemove)
    const { path } = profileInUse()
    const { url } = requireProfile(readProfiles(path), path, args.name)
    await confirm(`Remove profile ${args.name} (${url})?`, { yes: flags.yes, noInput: flags['no-input'] })
    await removeProfile(path, args.name)
    this.log(`Profile ${args.name} is removed.`)
    return { name: args.name, removed: true }
  }
}
