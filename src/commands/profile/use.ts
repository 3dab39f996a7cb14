import { Args } from '@oclif/core'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { chooseProfile, readProfiles, requireProfile } from '../../cli/settings/profile.ts'
import { overridingVariables, profileInUse } from '../../cli/settings/settings.ts'

export default class ProfileUse extends BaseCommand {
  static override summary = 'Set the profile that commands use.'
  static override description = '--profile and PASSES_PROFILE take precedence.'
  static override examples = [
    '<%= config.bin %> profile use production',
    '<%= config.bin %> profile use default --json',
  ]
  static override args = { name: Args.string({ description: 'Name of the profile.', required: true }) }

  async run() {
    const { args } = await this.parse(ProfileUse)
    const { path } = profileInUse()
    const { url } = requireProfile(readProfiles(path), path, args.name)
    await chooseProfile(path, args.name)
    this.log(`Profile ${args.name} (${url}) is in use.`)
    const overriding = overridingVariables()
    if (overriding.length > 0) this.note(`Set in the environment, which takes precedence: ${overriding.join(', ')}`)
    return { name: args.name, url }
  }
}
