import { Args, Flags } from '@oclif/core'
import { UsageError } from '../../cli/command/cli-error.ts'
import { DeviceCommand, deviceFlag } from '../../cli/device/device-command.ts'
import { openDevice } from '../../cli/device/phone-store.ts'
import { findPassId, passIdsOf, phoneOf } from '../../cli/device/phones.ts'

export default class DeviceRemove extends DeviceCommand {
  static override summary = 'Remove a pass from a virtual phone, which notifies its platform.'
  static override examples = [
    '<%= config.bin %> device remove 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33',
    '<%= config.bin %> device remove --all --device pixel',
  ]
  static override args = { pass: Args.string({ description: 'Serial number or object ID.' }) }
  static override flags = {
    ...deviceFlag,
    all: Flags.boolean({ summary: 'Remove every pass of the phone.', default: false }),
  }

  async run() {
    const { args, flags } = await this.parse(DeviceRemove)
    if ((args.pass === undefined) !== flags.all) throw new UsageError('Give one pass, or --all')
    const file = openDevice(this.folderOf(flags), flags.device)
    const device = file.read()
    const removed = args.pass === undefined ? passIdsOf(device) : [findPassId(device, args.pass)]
    const phone = phoneOf(file)
    for (const pass of removed) await phone.remove(pass)
    this.log(removed.length === 1 ? `Removed ${removed[0]}.` : `Removed ${removed.length} passes.`)
    return { device: file.name, removed }
  }
}
