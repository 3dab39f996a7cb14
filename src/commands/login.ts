import { Flags, type Interfaces } from '@oclif/core'
import { UsageError } from '../cli/command/cli-error.ts'
import { ClientCommand } from '../cli/command/client-command.ts'
import { details, printable } from '../cli/command/output.ts'
import { askSecret, canAsk, readStdin } from '../cli/command/prompt.ts'
import { signInPerson } from '../cli/login/sign-in-person.ts'
import { currentProfile, findProfile, readProfiles, writeProfile } from '../cli/settings/profile.ts'
import { overridingVariables, resolveConnection, type Setting } from '../cli/settings/settings.ts'

export default class Login extends ClientCommand {
  static override summary = 'Check a token with its server, and store both as a profile.'
  static override description =
    'Asks for the token; in scripts, use --token-stdin. Only the current user can read the file of profiles. With ' +
    '--sso, prints an address to open in a browser. Sign in there with your account. A token from --sso has your ' +
    'roles, and expires after an hour without commands, or after 12 hours at the latest.'
  static override examples = [
    '<%= config.bin %> login --url https://passes.example',
    {
      description: 'Log in from a script, with a name for the profile',
      command: '<%= config.bin %> login --url https://passes.example --profile production --token-stdin < token.txt',
    },
    { description: 'Sign in with your account', command: '<%= config.bin %> login --sso --url https://passes.example' },
  ]
  static override flags = {
    'token-stdin': Flags.boolean({ summary: 'Read the token from stdin.' }),
    sso: Flags.boolean({
      summary: 'Sign in with a browser, at the identity provider of the server.',
      exclusive: ['token', 'token-stdin'],
    }),
    workspace: Flags.string({
      summary: 'Name or ID of the workspace, if you have roles in several.',
      dependsOn: ['sso'],
    }),
  }

  async run() {
    const { flags } = await this.parse(Login)
    if (flags.token !== undefined && flags['token-stdin']) throw new UsageError('Give either --token or --token-stdin')
    const resolved = resolveConnection(flags, { profileMayBeMissing: true })
    const token = await this.#readToken(flags, resolved.url.value)
    this.connection = { ...resolved, token }
    const current = await this.connect(flags).tokens.current()
    const { name, path } = resolved.profile
    const replaced = findProfile(readProfiles(path), name)
    await writeProfile(path, name, { url: resolved.url.value, token: token.value })
    const inUse = currentProfile(readProfiles(path))
    this.log(
      details([
        ['Profile', `${name} (${path})`],
        ['Server', resolved.url.value],
        ['Workspace', `${current.workspaceName} (${current.workspaceId})`],
        ['Token', `${current.name}, ${current.role}`],
      ]),
    )
    if (replaced && replaced.url !== resolved.url.value)
      this.note(`Profile ${name} was previously for ${replaced.url}.`)
    if (name !== inUse) this.note(`Profile ${inUse} is in use; change that with: passes profile use ${name}`)
    const overriding = overridingVariables()
    if (overriding.length > 0) this.note(`These variables override the profile: ${overriding.join(', ')}`)
    return { profile: name, path, url: resolved.url.value, token: current }
  }

  /** Returns the token to store. Ignores PASSES_TOKEN: the command stores only a token that it was given explicitly. */
  async #readToken(flags: LoginFlags, url: string): Promise<Setting> {
    if (flags.sso) {
      const value = await signInPerson({
        url,
        workspace: flags.workspace,
        onAddress: (address, device) => {
          if (device) {
            const [code, page] = [printable(device.code), printable(device.address)]
            this.note(`Open this address on any device, and enter ${code}:\n\n  ${page}\n`)
          }
          const open = device ? 'Or open' : 'Open'
          this.note(`${open} this address in a browser of this machine:\n\n  ${address}\n`)
        },
      })
      return { value, source: 'the sign-in' }
    }
    if (flags.token) return { value: flags.token, source: '--token' }
    if (flags['token-stdin']) return notEmpty({ value: await readStdin(), source: 'stdin' })
    if (canAsk({ noInput: flags['no-input'] })) {
      return notEmpty({ value: await askSecret(`Token for ${url}: `), source: 'the prompt' })
    }
    throw new UsageError('No token was given, and prompts are disabled', { hint: 'give it with --token-stdin.' })
  }
}

type LoginFlags = Interfaces.InferredFlags<typeof Login.baseFlags & typeof Login.flags>

function notEmpty(token: Setting): Setting {
  if (!token.value) throw new UsageError(`The token from ${token.source} is empty`)
  return token
}
