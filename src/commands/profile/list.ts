import { styleFlags } from '../../cli/arguments/list-flags.ts'
import { BaseCommand } from '../../cli/command/base-command.ts'
import type { ListShape } from '../../cli/list/shape.ts'
import { onePage } from '../../cli/list/show-list.ts'
import { readProfiles } from '../../cli/settings/profile.ts'
import { profileInUse } from '../../cli/settings/settings.ts'

interface ProfileItem {
  name: string
  url: string
  inUse: boolean
  loggedIn: boolean
}

const shape: ListShape<ProfileItem> = {
  columns: [
    { name: 'name', value: ({ name }) => name, whole: true },
    { name: 'url', value: ({ url }) => url, title: 'server' },
    { name: 'inUse', value: ({ inUse }) => (inUse ? 'yes' : '') },
    { name: 'loggedIn', value: ({ loggedIn }) => (loggedIn ? 'stored' : 'none'), title: 'token' },
  ],
}

export default class ProfileList extends BaseCommand {
  static override summary = 'List the stored profiles, and the one in use.'
  static override description =
    'The profile in use is that of PASSES_PROFILE, else of profile use. Tokens are not shown.'
  static override examples = ['<%= config.bin %> profile list', '<%= config.bin %> profile list --json']

  static override flags = styleFlags

  async run() {
    const { flags } = await this.parse(ProfileList)
    const { name: inUse, path } = profileInUse()
    const profiles = Object.entries(readProfiles(path).profiles).map(([name, { url, token }]) => {
      return { name, url, inUse: name === inUse, loggedIn: token !== undefined }
    })
    const page = await this.showList({
      pages: onePage<ProfileItem>(profiles),
      shape,
      flags,
      noun: ['profile', 'profiles'],
      empty: 'Next: passes login --url https://passes.example',
    })
    return page?.items
  }
}
