import { Flags } from '@oclif/core'
import { getPassId, passArgs, passFlags } from '../../cli/arguments/pass-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { confirm } from '../../cli/command/prompt.ts'

export default class PassVoid extends ClientCommand {
  static override summary = 'Void a pass, for good.'
  static override description =
    'It can no longer be scanned, its links are closed, and cards on phones show it as void. Asks first; elsewhere ' +
    'give --yes. For many passes use void with a CSV file.'
  static override examples = [
    '<%= config.bin %> pass void 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33 --reason refunded',
    '<%= config.bin %> pass void T-1 --external --yes --json',
  ]
  static override args = passArgs
  static override flags = {
    ...passFlags,
    reason: Flags.string({ summary: 'Why, up to 255 characters; passed on to webhooks.' }),
    yes: Flags.boolean({ summary: 'Do it without asking.' }),
  }

  async run() {
    const { args, flags } = await this.parse(PassVoid)
    const client = this.connect(flags)
    const id = await getPassId(client, { id: args.id, external: flags.external })
    await confirm(`Void pass ${args.id}?`, { yes: flags.yes, noInput: flags['no-input'] })
    const result = await client.passes.void({ params: { id }, body: { reason: flags.reason } })
    this.log(`Pass ${args.id} is void.`)
    return result
  }
}
