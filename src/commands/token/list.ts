import { Flags } from '@oclif/core'
import { styleFlags } from '../../cli/arguments/list-flags.ts'
import { BaseCommand } from '../../cli/command/base-command.ts'
import type { ListShape } from '../../cli/list/shape.ts'
import { onePage } from '../../cli/list/show-list.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'

interface TokenItem {
  id: string
  name: string
  role: string
  projectIds: string[] | null
  lastUsedAt: Date | null
  expiresAt: Date | null
  revokedAt: Date | null
  replacedBy: string | null
}

const shape: ListShape<TokenItem> = {
  columns: [
    { name: 'id', value: ({ id }) => id, whole: true },
    { name: 'name', value: ({ name }) => name },
    { name: 'role', value: ({ role }) => role },
    { name: 'projectIds', value: ({ projectIds }) => projectIds?.join(' ') ?? null, title: 'projects', none: 'all' },
    { name: 'lastUsedAt', value: (token) => token.lastUsedAt, kind: 'time', title: 'last used', none: 'never' },
    { name: 'expiresAt', value: (token) => token.expiresAt, kind: 'time', title: 'expires', none: 'never' },
    { name: 'revokedAt', value: (token) => token.revokedAt, kind: 'time', title: 'revoked' },
    { name: 'replacedBy', value: ({ replacedBy }) => replacedBy, title: 'followed by', whole: true },
  ],
}

export default class TokenList extends BaseCommand {
  static override summary = 'List the tokens of a workspace with their expiry.'
  static override examples = ['<%= config.bin %> token list', '<%= config.bin %> token list --workspace acme --json']
  static override flags = {
    ...databaseFlags,
    workspace: Flags.string({ summary: 'Name or ID of the workspace.', default: 'default' }),
    ...styleFlags,
  }

  async run() {
    const { flags } = await this.parse(TokenList)
    const { getWorkspace, withStore } = await import('../../server/operator/operator.ts')
    const tokens = await withStore(flags.database, async (store) =>
      store.tokens.list((await getWorkspace(store, flags.workspace)).id),
    )
    const page = await this.showList({
      pages: onePage<TokenItem>(tokens),
      shape,
      flags,
      noun: ['token', 'tokens'],
      empty: 'Next: passes token create',
    })
    return page?.items
  }
}
