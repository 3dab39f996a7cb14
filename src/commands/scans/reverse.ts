import { randomUUID } from 'node:crypto'
import { Flags } from '@oclif/core'
import { idArg } from '../../cli/arguments/id-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { confirm } from '../../cli/command/prompt.ts'

export default class ScansReverse extends ClientCommand {
  static override summary = 'Take an accepted scan back.'
  static override description =
    'The use that it took is free again; a pass that became void stays void. The ledger keeps both. Once for each ' +
    'scan. Asks first; elsewhere give --yes.'
  static override examples = [
    '<%= config.bin %> scans reverse 0198c7a9-4c11-7e20-b1d7-2f3a4b5c6d7e --reason "wrong person"',
    '<%= config.bin %> scans reverse 0198c7a9-4c11-7e20-b1d7-2f3a4b5c6d7e --yes --json',
  ]
  static override args = { id: idArg('scan') }
  static override flags = {
    reason: Flags.string({ summary: 'Why, up to 255 characters.' }),
    'external-ref': Flags.string({ summary: 'Your own key of the reversal: sent twice, it is done once.' }),
    device: Flags.string({ summary: 'Which device it is done at.' }),
    note: Flags.string({ summary: 'A note for the ledger.' }),
    yes: Flags.boolean({ summary: 'Do it without asking.' }),
  }

  async run() {
    const { args, flags } = await this.parse(ScansReverse)
    const client = this.connect(flags)
    await confirm(`Take back scan ${args.id}?`, { yes: flags.yes, noInput: flags['no-input'] })
    const body = {
      reason: flags.reason,
      // With a key of its own the request may be sent again when its answer gets lost.
      externalRef: flags['external-ref'] ?? `cli-${randomUUID()}`,
      deviceId: flags.device,
      ...(flags.note !== undefined && { context: { note: flags.note } }),
    }
    const answer = await client.scans.reverse({ params: { id: args.id }, body }, { idempotent: true })
    this.log(answer.message)
    return answer
  }
}
