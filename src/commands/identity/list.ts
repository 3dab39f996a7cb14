import { styleFlags } from '../../cli/arguments/list-flags.ts'
import { BaseCommand } from '../../cli/command/base-command.ts'
import type { ListShape } from '../../cli/list/shape.ts'
import { onePage } from '../../cli/list/show-list.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'
import type { ShownIdentity } from '../../server/operator/manage-identities.ts'

const shape: ListShape<ShownIdentity> = {
  columns: [
    { name: 'id', value: ({ id }) => id, whole: true },
    { name: 'name', value: ({ name }) => name },
    { name: 'platform', value: ({ platform }) => platform },
    { name: 'passTypeIdentifier', value: (identity) => identity.passTypeIdentifier, title: 'pass type' },
    { name: 'issuerId', value: ({ issuerId }) => issuerId, title: 'issuer' },
    { name: 'status', value: ({ status }) => status },
    { name: 'expiresAt', value: ({ expiresAt }) => expiresAt, kind: 'time', title: 'expires', none: 'never' },
  ],
}

export default class IdentityList extends BaseCommand {
  static override summary = 'List the identities of the database.'
  static override description = 'In addition, there is the identity server, set by the flags of passes serve.'
  static override examples = ['<%= config.bin %> identity list', '<%= config.bin %> identity list --json']
  static override flags = { ...databaseFlags, ...styleFlags }

  async run() {
    const { flags } = await this.parse(IdentityList)
    const { listIdentities } = await import('../../server/operator/manage-identities.ts')
    const identities = await listIdentities({ databaseUrl: flags.database })
    const page = await this.showList({
      pages: onePage<ShownIdentity>(identities),
      shape,
      flags,
      noun: ['identity', 'identities'],
      empty: 'Next: passes identity add apple --name …',
    })
    return page?.items
  }
}
