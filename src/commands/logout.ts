import { Flags } from '@oclif/core'
import { BaseCommand } from '../cli/command/base-command.ts'
import { forgetToken } from '../cli/settings/profile.ts'
import { overridingVariables, profileInUse } from '../cli/settings/settings.ts'

export default class Logout extends BaseCommand {
  static override summary = 'Delete the stored token of a profile.'
  static override description =
    'The address remains for the next login; profile remove deletes both. The token remains valid: passes token ' +
    'revoke ends it on the server.'
  static override examples = ['<%= config.bin %> logout', '<%= config.bin %> logout --profile production --json']
  static override flags = {
    profile: Flags.string({ summary: 'Name of the profile; by default the one in use (passes profile list).' }),
  }

  async run() {
    const { flags } = await this.parse(Logout)
    const { name, path } = profileInUse(flags.profile)
    await forgetToken(path, name)
    this.log(`The token of profile ${name} is deleted from this machine.`)
    if (overridingVariables().includes('PASSES_TOKEN')) this.note('PASSES_TOKEN is set, and still used.')
    return { profile: name, path }
  }
}
