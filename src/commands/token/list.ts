import { Flags } from '@oclif/core'
import { BaseCommand, terminalWidth } from '../../cli/command/base-command.ts'
import { table } from '../../cli/command/output.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'

export default class TokenList extends BaseCommand {
  static override summary = 'List the tokens of a workspace, and when each ends.'
  static override examples = ['<%= config.bin %> token list', '<%= config.bin %> token list --workspace acme --json']
  static override flags = {
    ...databaseFlags,
    workspace: Flags.string({ summary: 'Name or id of the workspace.', default: 'default' }),
  }

  async run() {
    const { flags } = await this.parse(TokenList)
    const { getWorkspace, withStore } = await import('../../server/operator/operator.ts')
    const tokens = await withStore(flags.database, async (store) =>
      store.tokens.list((await getWorkspace(store, flags.workspace)).id),
    )
    this.log(
      table(
        tokens,
        [
          { title: 'Id', value: (token) => token.id, whole: true },
          { title: 'Name', value: (token) => token.name },
          { title: 'Role', value: (token) => token.role },
          { title: 'Last used', value: (token) => token.lastUsedAt?.toISOString() ?? 'never' },
          { title: 'Expires', value: (token) => token.expiresAt?.toISOString() ?? 'never' },
          { title: 'Revoked', value: (token) => token.revokedAt?.toISOString() ?? '' },
          { title: 'Followed by', value: (token) => token.replacedBy ?? '' },
        ],
        { width: terminalWidth() },
      ),
    )
    return tokens
  }
}
