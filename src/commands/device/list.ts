import { terminalWidth } from '../../cli/command/base-command.ts'
import { table } from '../../cli/command/output.ts'
import { DeviceCommand } from '../../cli/device/device-command.ts'
import { passIdsOf } from '../../cli/device/phones.ts'
import { listDevices } from '../../cli/device/store.ts'

export default class DeviceList extends DeviceCommand {
  static override summary = 'List virtual phones.'
  static override examples = ['<%= config.bin %> device list', '<%= config.bin %> device list --json']

  async run() {
    const { flags } = await this.parse(DeviceList)
    const devices = listDevices(this.folderOf(flags)).map((device) => {
      return { name: device.name, platform: device.platform, passes: passIdsOf(device) }
    })
    this.log(
      table(
        devices,
        [
          { title: 'name', value: ({ name }) => name, whole: true },
          { title: 'platform', value: ({ platform }) => platform },
          { title: 'passes', value: ({ passes }) => passes.length },
        ],
        { width: terminalWidth() },
      ),
    )
    return devices
  }
}
