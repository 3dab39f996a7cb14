import { Args, Flags } from '@oclif/core'
import { lifetimeFlag, parseDuration, parseLifetime } from '../../cli/arguments/moment.ts'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { details, localTime, localTimeOr } from '../../cli/command/output.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'
import { isUuidText } from '../../core/uuid.ts'

export default class TokenRotate extends BaseCommand {
  static override summary = 'Create a successor of a token, which then expires soon.'
  static override description =
    'The new token has the same name, role, and scopes, and is shown once. The old token works during the overlap, ' +
    'in which you replace it; passes token revoke ends it at once. A token can be rotated once.'
  static override examples = [
    '<%= config.bin %> token rotate 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
    '<%= config.bin %> token rotate 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --overlap 7d --expires-in 90d --json',
  ]
  static override args = { id: Args.string({ description: 'ID of the token (passes token list).', required: true }) }
  static override flags = {
    ...databaseFlags,
    workspace: Flags.string({ summary: 'Name or ID of the workspace.', default: 'default' }),
    overlap: Flags.string({ summary: 'Time that the old token still works: 15m, 24h, 7d.', default: '24h' }),
    'expires-in': lifetimeFlag,
  }

  async run() {
    const { args, flags } = await this.parse(TokenRotate)
    const { getWorkspace, OperatorError, withStore } = await import('../../server/operator/operator.ts')
    const { rotateToken } = await import('../../server/operator/manage-tokens.ts')
    const at = new Date()
    const overlapSeconds = parseDuration(flags.overlap, '--overlap')
    const options = { overlapSeconds, expiresAt: parseLifetime(flags['expires-in'], at), at }
    if (!isUuidText(args.id)) {
      throw new OperatorError(`${args.id} is not the ID of a token; passes token list shows all.`)
    }
    const { workspace, ...rotated } = await withStore(flags.database, async (store) => {
      const workspace = await getWorkspace(store, flags.workspace)
      const id = args.id.toLowerCase()
      return { workspace, ...(await store.transaction((tx) => rotateToken(tx, workspace.id, id, options))) }
    })
    const { text, token, previous } = rotated
    const made = {
      id: token.id,
      token: text,
      name: token.name,
      role: token.role,
      scopes: token.scopes,
      workspaceId: workspace.id,
      expiresAt: token.expiresAt?.toISOString() ?? null,
      previous: { id: previous.id, expiresAt: previous.expiresAt!.toISOString() },
    }
    this.log(
      details([
        ['Token', text],
        ['Id', made.id],
        ['Name', made.name],
        ['Expires', localTimeOr(made.expiresAt, 'never')],
        ['Before it', `${made.previous.id}, ends ${localTime(made.previous.expiresAt)}`],
      ]),
    )
    this.note('Keep the token now: it is not shown again.')
    return made
  }
}
