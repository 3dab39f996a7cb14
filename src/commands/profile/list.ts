import { BaseCommand, terminalWidth } from '../../cli/command/base-command.ts'
import { table } from '../../cli/command/output.ts'
import { readProfiles } from '../../cli/settings/profile.ts'
import { profileInUse } from '../../cli/settings/settings.ts'

export default class ProfileList extends BaseCommand {
  static override summary = 'List the stored profiles, and which one is in use.'
  static override description = 'The one in use is that of PASSES_PROFILE, else of profile use. Tokens are not shown.'
  static override examples = ['<%= config.bin %> profile list', '<%= config.bin %> profile list --json']

  async run() {
    await this.parse(ProfileList)
    const { name: inUse, path } = profileInUse()
    const profiles = Object.entries(readProfiles(path).profiles).map(([name, { url, token }]) => {
      return { name, url, inUse: name === inUse, loggedIn: token !== undefined }
    })
    if (profiles.length === 0) this.note('There is no profile yet. Next: passes login --url https://passes.example')
    else {
      this.log(
        table(
          profiles,
          [
            { title: 'name', value: ({ name }) => name, whole: true },
            { title: 'server', value: ({ url }) => url },
            { title: 'in use', value: (profile) => (profile.inUse ? 'yes' : '') },
            { title: 'token', value: ({ loggedIn }) => (loggedIn ? 'stored' : 'none') },
          ],
          { width: terminalWidth() },
        ),
      )
    }
    return profiles
  }
}
