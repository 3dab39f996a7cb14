import { Args, Flags } from '@oclif/core'
import { passFlags } from '../../cli/arguments/pass-argument.ts'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { count } from '../../cli/command/output.ts'
import { confirm } from '../../cli/command/prompt.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'
import type { Holdings } from '../../storage/operations/erasure.ts'

export default class PassErase extends BaseCommand {
  static override summary = 'Erase the personal data of a pass, irreversibly.'
  static override description =
    'Works on the database, also while servers run. The pass becomes void, wallets get the void card without the ' +
    'data, and label, variables, externalPassId, messages, notes of scans, and every copy in events are deleted; ' +
    'pending deliveries are not sent. Results and counts of scans remain. Asks for confirmation; without a terminal, ' +
    '--yes is required. docs/privacy.md lists the stored data.'
  static override examples = [
    '<%= config.bin %> pass erase 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33 --dry-run',
    '<%= config.bin %> pass erase T-1 --external --workspace acme --yes --json',
  ]
  static override args = {
    id: Args.string({ description: 'ID of the pass, or with --external your key of it.', required: true }),
  }
  static override flags = {
    ...databaseFlags,
    ...passFlags,
    workspace: Flags.string({ summary: 'Name or ID of the workspace.', default: 'default' }),
    'dry-run': Flags.boolean({ summary: 'Only show the data that would be erased.' }),
    yes: Flags.boolean({ summary: 'Skip the confirmation.' }),
  }

  async run() {
    const { args, flags } = await this.parse(PassErase)
    const { getWorkspace, withStore } = await import('../../server/operator/operator.ts')
    const { erasePass, getPassToErase } = await import('../../server/operator/erase-pass.ts')
    return withStore(flags.database, async (store, database) => {
      const workspace = await getWorkspace(store, flags.workspace)
      const pass = await getPassToErase(store, workspace.id, { id: args.id, isExternal: flags.external })
      if (flags['dry-run']) {
        const erased = await store.erasure.count(workspace.id, pass.id)
        this.log(`Would erase of pass ${pass.id}: label, externalPassId, ${listed(erased)}.`)
        return { id: pass.id, dryRun: true, erased, voided: pass.status !== 'VOID' }
      }
      const question = `Permanently erase all data about the holder of pass ${pass.id}?`
      await confirm(question, { yes: flags.yes ?? false, noInput: flags['no-input'] })
      const result = await erasePass({ store, database }, workspace.id, pass.id, new Date())
      this.log(`Erased of pass ${pass.id}: label, externalPassId, ${listed(result.erased)}.`)
      if (!result.overwritten) this.note('Remains are in the log of the database until a server next writes to it.')
      this.note('Existing backups still contain the data, and so do the door lists of scanners.')
      return result
    })
  }
}

function listed({ variables, images, notifications, scans, events, pendingDeliveries }: Holdings): string {
  const parts = [
    `${count(variables)} variables`,
    ...(images > 0 ? [`${count(images)} images that nothing else uses`] : []),
    `${count(notifications)} notifications`,
    `details of ${count(scans)} scans`,
    `data of ${count(events)} events (${count(pendingDeliveries)} deliveries are not sent)`,
  ]
  return parts.join(', ')
}
