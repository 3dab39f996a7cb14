import { styleFlags } from '../../cli/arguments/list-flags.ts'
import { DeviceCommand } from '../../cli/device/device-command.ts'
import { listDevices } from '../../cli/device/phone-store.ts'
import { passIdsOf } from '../../cli/device/phones.ts'
import type { ListShape } from '../../cli/list/shape.ts'
import { onePage } from '../../cli/list/show-list.ts'

interface DeviceItem {
  name: string
  platform: string
  passes: string[]
}

const shape: ListShape<DeviceItem> = {
  columns: [
    { name: 'name', value: ({ name }) => name, whole: true },
    { name: 'platform', value: ({ platform }) => platform },
    { name: 'passes', value: ({ passes }) => passes.length },
  ],
}

export default class DeviceList extends DeviceCommand {
  static override summary = 'List virtual phones.'
  static override examples = ['<%= config.bin %> device list', '<%= config.bin %> device list --json']

  static override flags = styleFlags

  async run() {
    const { flags } = await this.parse(DeviceList)
    const devices = listDevices(this.folderOf(flags)).map((device) => {
      return { name: device.name, platform: device.platform, passes: passIdsOf(device) }
    })
    const page = await this.showList({
      pages: onePage<DeviceItem>(devices),
      shape,
      flags,
      noun: ['phone', 'phones'],
      empty: 'Next: passes device install',
    })
    return page?.items
  }
}
