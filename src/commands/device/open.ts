import { DeviceCommand, nameArg, shownLanguageFlag } from '../../cli/device/device-command.ts'
import { bannerLines, drawDevice } from '../../cli/device/phone-output.ts'
import { openDevice } from '../../cli/device/phone-store.ts'
import { phoneOf } from '../../cli/device/phones.ts'

export default class DeviceOpen extends DeviceCommand {
  static override summary = 'Open a virtual phone: it fetches updates, and shows its passes.'
  static override examples = ['<%= config.bin %> device open', '<%= config.bin %> device open iphone --json']
  static override args = nameArg
  static override flags = shownLanguageFlag

  async run() {
    const { args, flags } = await this.parse(DeviceOpen)
    const file = openDevice(this.folderOf(flags), args.name)
    const { changes, problems } = await phoneOf(file).check()
    const device = this.speaking(file.read(), flags)
    for (const change of changes) this.log(bannerLines(device, change))
    this.log(await drawDevice(device, this.drawing(flags)))
    for (const problem of problems) this.note(`Problem: ${problem}`)
    if (problems.length > 0) process.exitCode = 1
    return { device: file.name, changes, problems }
  }
}
