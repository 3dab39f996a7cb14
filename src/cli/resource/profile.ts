import { Args, Flags } from '@oclif/core'
import { itemsCommand, localCommand, type ResourceCommands } from '../command/resource-command.ts'
import type { ListShape } from '../list/shape.ts'
import {
  chooseProfile,
  findProfile,
  forgetToken,
  readProfiles,
  removeProfile,
  requireProfile,
} from '../settings/profile.ts'
import { overridingVariables, profileInUse } from '../settings/settings.ts'

interface ProfileItem {
  name: string
  url: string
  inUse: boolean
  loggedIn: boolean
}

const shape: ListShape<ProfileItem> = {
  columns: [
    { name: 'name', whole: true },
    { name: 'url', title: 'server' },
    { name: 'inUse', value: ({ inUse }) => (inUse ? 'yes' : '') },
    { name: 'loggedIn', value: ({ loggedIn }) => (loggedIn ? 'stored' : 'none'), title: 'token' },
  ],
}

const nameArgs = { name: Args.string({ description: 'Name of the profile.', required: true }) }

export const commands: ResourceCommands = {
  logout: localCommand({
    summary: 'Delete the stored token of a profile.',
    description:
      'The profile keeps its address for the next login; "passes profile remove" deletes both. A session of ' +
      '"passes login --sso" also ends on the server. An access token remains valid there: to revoke it, run ' +
      '"passes token revoke".',
    examples: ['logout', 'logout --profile production --json'],
    flags: {
      profile: Flags.string({
        summary: 'Name of the profile (default: the profile in use; see "passes profile list").',
      }),
    },
    async run({ flags, note }) {
      const { name, path } = profileInUse(flags.profile)
      const { url, token } = findProfile(readProfiles(path), name) ?? {}
      await forgetToken(path, name)
      const { endSession, isSessionToken } = await import('../login/sign-in-person.ts')
      if (url && token && isSessionToken(token) && !(await endSession({ url, token }))) {
        note('The server did not confirm the end of the session. It ends after an hour without commands.')
      }
      return { profile: name, path }
    },
    print: ({ profile }) => `The token of profile ${profile} is deleted from this machine.`,
    note: () => (overridingVariables().includes('PASSES_TOKEN') ? 'Commands still use PASSES_TOKEN.' : undefined),
  }),
  'profile:list': itemsCommand({
    summary: 'List the stored profiles, and the one in use.',
    description: 'PASSES_PROFILE or, without it, "passes profile use" sets the profile in use. Tokens are not shown.',
    examples: ['profile list', 'profile list --json'],
    read() {
      const { name: inUse, path } = profileInUse()
      return Object.entries(readProfiles(path).profiles).map(([name, { url, token }]) => {
        return { name, url, inUse: name === inUse, loggedIn: token !== undefined }
      })
    },
    shape,
    noun: ['profile', 'profiles'],
    empty: 'Next: passes login --url https://passes.example',
  }),
  'profile:use': localCommand({
    summary: 'Set the profile that commands use.',
    description: '--profile and PASSES_PROFILE take precedence over this setting.',
    examples: ['profile use production', 'profile use default --json'],
    args: nameArgs,
    async run({ args: { name } }) {
      const { path } = profileInUse()
      const { url } = requireProfile(readProfiles(path), path, name)
      await chooseProfile(path, name)
      return { name, url }
    },
    print: ({ name, url }) => `Profile ${name} (${url}) is in use.`,
    note() {
      const overriding = overridingVariables()
      if (overriding.length === 0) return undefined
      return `These variables take precedence over the profile: ${overriding.join(', ')}`
    },
  }),
  'profile:remove': localCommand({
    summary: 'Remove a profile and its token from this machine.',
    description: 'The token remains valid on the server. To revoke it, run "passes token revoke".',
    examples: ['profile remove staging', 'profile remove staging --yes --json'],
    args: nameArgs,
    asks: true,
    async run({ args: { name }, ask }) {
      const { path } = profileInUse()
      const { url } = requireProfile(readProfiles(path), path, name)
      await ask(`Remove profile ${name} (${url})?`)
      await removeProfile(path, name)
      return { name, removed: true }
    },
    print: ({ name }) => `Profile ${name} is removed.`,
  }),
}
