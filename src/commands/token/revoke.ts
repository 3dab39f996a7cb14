import { Args, Flags } from '@oclif/core'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { confirm } from '../../cli/command/prompt.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'
import { isUuidText } from '../../core/uuid.ts'

export default class TokenRevoke extends BaseCommand {
  static override summary = 'Revoke an access token.'
  static override description =
    'Running servers reject it within two seconds. Asks for confirmation; without a terminal, --yes is required.'
  static override examples = [
    '<%= config.bin %> token revoke 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
    '<%= config.bin %> token revoke 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --workspace acme --yes',
  ]
  static override args = { id: Args.string({ description: 'ID of the token (passes token list).', required: true }) }
  static override flags = {
    ...databaseFlags,
    workspace: Flags.string({ summary: 'Name or ID of the workspace.', default: 'default' }),
    yes: Flags.boolean({ summary: 'Skip the confirmation.' }),
  }

  async run() {
    const { args, flags } = await this.parse(TokenRevoke)
    const { auditOperator, getWorkspace, OperatorError, withStore } = await import('../../server/operator/operator.ts')
    return withStore(flags.database, async (store) => {
      const workspace = await getWorkspace(store, flags.workspace)
      await confirm(`Revoke ${args.id} in ${workspace.name}?`, { yes: flags.yes ?? false, noInput: flags['no-input'] })
      const id = isUuidText(args.id) ? args.id.toLowerCase() : undefined
      const now = new Date()
      const revoked = await store.transaction(async (tx) => {
        if (id === undefined || !(await tx.tokens.revoke(workspace.id, id, now))) return false
        await auditOperator(tx, workspace.id, { action: 'token.revoke', targetId: id }, now)
        return true
      })
      if (!revoked)
        throw new OperatorError(`Token ${args.id} not found in ${workspace.name}; passes token list shows them.`)
      this.log(`Revoked ${args.id}.`)
      return { id: args.id, revoked: true }
    })
  }
}
