import { Flags } from '@oclif/core'
import { namedArg } from '../../cli/arguments/id-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { confirm } from '../../cli/command/prompt.ts'

export default class DoorRevoke extends ClientCommand {
  static override summary = 'Revoke a door: its phone scans no more.'
  static override description =
    'Within 5 seconds where it is online. What it decided without the network and has not reported is lost. Asks first; ' +
    'elsewhere give --yes. Needs a token of an owner.'
  static override examples = [
    '<%= config.bin %> door revoke "Anna"',
    '<%= config.bin %> door revoke 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --yes --json',
  ]
  static override args = { door: namedArg('door') }
  static override flags = { yes: Flags.boolean({ summary: 'Do it without asking.' }) }

  async run() {
    const { args, flags } = await this.parse(DoorRevoke)
    const client = this.connect(flags)
    await confirm(`Revoke door ${args.door}?`, { yes: flags.yes, noInput: flags['no-input'] })
    await client.doors.revoke({ params: { id: args.door } })
    this.log(`Door ${args.door} is revoked.`)
    return { id: args.door, revoked: true }
  }
}
