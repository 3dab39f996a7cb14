import { ClientCommand } from '../cli/command/client-command.ts'
import { details, localTimeOr } from '../cli/command/output.ts'

export default class Whoami extends ClientCommand {
  static override summary = 'Show the server and token in use, their source, and the permissions of the token.'
  static override examples = ['<%= config.bin %> whoami', '<%= config.bin %> whoami --profile production --json']

  async run() {
    const { flags } = await this.parse(Whoami)
    const token = await this.connect(flags).tokens.current()
    const { url, token: secret } = this.connection!
    this.log(
      details([
        ['Server', `${url.value} (from ${url.source})`],
        ['Token', `${token.name} (from ${secret!.source})`],
        ['Role', token.role],
        ['Workspace', `${token.workspaceName} (${token.workspaceId})`],
        ['Scopes', token.scopes.join(', ')],
        ['Expires', localTimeOr(token.expiresAt, 'never')],
      ]),
    )
    return { url: url.value, urlSource: url.source, tokenSource: secret!.source, token }
  }
}
