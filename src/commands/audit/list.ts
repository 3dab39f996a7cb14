import { Flags } from '@oclif/core'
import { filterFlag, followFlag, formerly, listFlags, PAST, pastFlag } from '../../cli/arguments/list-flags.ts'
import { BaseCommand } from '../../cli/command/base-command.ts'
import type { ListShape } from '../../cli/list/shape.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'
import type { AuditEntry } from '../../server/operator/list-audit.ts'

export default class AuditList extends BaseCommand {
  static override summary = 'Show the audit log, newest first.'
  static override description =
    'Accesses the database directly, not through a server. Different filters must all match; repeated values of one ' +
    'filter are alternatives. With --all, memory use is constant, and --json prints one entry per line. Entries do ' +
    'not contain the changed values. Recorded scans are not listed, because they are in the ledger; only --target ' +
    'with the ID of a scan shows which token recorded it.'
  static override examples = [
    {
      description: 'List actions of operators in the last seven days',
      command: '<%= config.bin %> audit list --actor operator --from 7d',
    },
    { description: 'Follow actions of operators', command: '<%= config.bin %> audit list --actor operator --follow' },
    {
      description: 'List the actions on one object',
      command: '<%= config.bin %> audit list --target 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33',
    },
    {
      description: 'Write the webhook changes of a workspace for a spreadsheet',
      command: '<%= config.bin %> audit list --workspace acme --action webhook --all --csv > webhooks.csv',
    },
  ]
  static override flags = {
    ...databaseFlags,
    workspace: Flags.string({ summary: 'Only actions in this workspace (name or ID; default: all).' }),
    actor: filterFlag(
      'Only actions of this token (ID or name), of this person (email address), or of commands on the database ' +
        '("operator").',
    ),
    action: filterFlag('Only this action, such as pass.void, or all actions on a kind of object, such as webhook.'),
    target: Flags.string({ summary: 'Only actions on the object with this ID.' }),
    from: pastFlag(`Only actions at or after this time: ${PAST}.`, formerly('since')),
    to: pastFlag('Only actions at or before this time.', formerly('until')),
    ...listFlags,
    follow: followFlag,
  }

  async run() {
    const { flags } = await this.parse(AuditList)
    const { withStore } = await import('../../server/operator/operator.ts')
    const { listAudit, resolveSearch } = await import('../../server/operator/list-audit.ts')
    const { workspace, actor: actors, action: actions, target } = flags
    const since = flags.from === undefined ? undefined : new Date(flags.from)
    const until = flags.to === undefined ? undefined : new Date(flags.to)
    return withStore(flags.database, async (store) => {
      const filters = await resolveSearch(store, { workspace, actors, actions, target, since, until })
      return this.showPages({
        list: ({ query: { limit = 20, cursor } }: { query: { limit?: number; cursor?: string } }) =>
          listAudit(store, filters, { limit, cursor }),
        writtenAt: ({ at }) => at,
        shape: auditShape,
        flags,
        streamsJson: true,
        noun: ['entry', 'entries'],
        empty: 'Future changes will be listed here.',
        query: filters,
      })
    })
  }
}

const auditShape: ListShape<AuditEntry> = {
  columns: [
    { name: 'id', whole: true },
    { name: 'at', kind: 'time' },
    { name: 'workspaceId', whole: true },
    { name: 'tokenId', whole: true },
    { name: 'actor', value: ({ actor }) => (typeof actor === 'string' ? actor : actor.email) },
    { name: 'action', whole: true },
    ['targetKind'],
    { name: 'targetId', whole: true },
    ['targetCount'],
    { name: 'target', value: ({ targetId, targetCount }) => targetId ?? targetCount, whole: true, inCsv: false },
    ['correlationId'],
  ],
  table: ['at', 'actor', 'action', 'target', 'correlationId'],
}
