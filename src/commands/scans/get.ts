import { idArg } from '../../cli/arguments/id-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { showScan } from '../../cli/records.ts'

export default class ScansGet extends ClientCommand {
  static override summary = 'Show a scan of the ledger.'
  static override examples = [
    '<%= config.bin %> scans get 0198c7a9-4c11-7e20-b1d7-2f3a4b5c6d7e',
    '<%= config.bin %> scans get 0198c7a9-4c11-7e20-b1d7-2f3a4b5c6d7e --json',
  ]
  static override args = { id: idArg('scan') }

  async run() {
    const { args, flags } = await this.parse(ScansGet)
    const scan = await this.connect(flags).scans.get({ params: { id: args.id } })
    this.log(showScan(scan))
    return scan
  }
}
