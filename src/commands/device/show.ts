import { DeviceCommand, nameArg } from '../../cli/device/device-command.ts'
import { describeDevice, drawDevice } from '../../cli/device/show.ts'
import { openDevice } from '../../cli/device/store.ts'

export default class DeviceShow extends DeviceCommand {
  static override summary = 'Draw the passes of a virtual phone as it has them, without looking for updates.'
  static override examples = ['<%= config.bin %> device show', '<%= config.bin %> device show pixel --json']
  static override args = nameArg

  async run() {
    const { args, flags } = await this.parse(DeviceShow)
    const device = openDevice(this.folderOf(flags), args.name).read()
    this.log(await drawDevice(device, this.drawing(flags)))
    return describeDevice(device)
  }
}
