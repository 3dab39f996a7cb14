import { DeviceCommand, nameArg, shownLanguageFlag } from '../../cli/device/device-command.ts'
import { describeDevice, drawDevice } from '../../cli/device/phone-output.ts'
import { openDevice } from '../../cli/device/phone-store.ts'

export default class DeviceShow extends DeviceCommand {
  static override summary = 'Draw the current passes of a virtual phone, without fetching updates.'
  static override examples = ['<%= config.bin %> device show', '<%= config.bin %> device show pixel --language de']
  static override args = nameArg
  static override flags = shownLanguageFlag

  async run() {
    const { args, flags } = await this.parse(DeviceShow)
    const device = this.speaking(openDevice(this.folderOf(flags), args.name).read(), flags)
    this.log(await drawDevice(device, this.drawing(flags)))
    return describeDevice(device)
  }
}
