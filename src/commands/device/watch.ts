import { Flags } from '@oclif/core'
import { jsonLines } from '../../cli/arguments/list-flags.ts'
import type { PictureOptions } from '../../cli/card-picture.ts'
import { UsageError } from '../../cli/command/cli-error.ts'
import { untilStopped } from '../../cli/command/program.ts'
import { DeviceCommand, nameArg } from '../../cli/device/device-command.ts'
import { bannerLines, drawDevice } from '../../cli/device/phone-output.ts'
import { type DeviceFile, openDevice } from '../../cli/device/phone-store.ts'
import { phoneOf, type WatchEvent, watch } from '../../cli/device/phones.ts'

export default class DeviceWatch extends DeviceCommand {
  static override summary = 'Keep a virtual phone awake: it receives pushes, and shows the banner and the new pass.'
  static override description =
    'With --json, one event per line: {"event": "listening" | "change" | "problem", …}. Ends with Ctrl-C, or after ' +
    '--seconds.'
  static override examples = [
    '<%= config.bin %> device watch',
    '<%= config.bin %> device watch iphone --seconds 60 --json',
  ]
  static override args = nameArg
  static override flags = { seconds: Flags.integer({ summary: 'End after this number of seconds.', min: 1 }) }

  async run() {
    const { args, flags } = await this.parse(DeviceWatch)
    const file = openDevice(this.folderOf(flags), args.name)
    const phone = phoneOf(file)
    if (phone.sources().length === 0) {
      throw new UsageError(`The phone ${file.name} holds no pass`, { hint: 'install one with passes device install.' })
    }
    const onEvent = (event: WatchEvent) => this.#show(event, file, this.drawing(flags))
    await untilStopped((signal) => watch(phone, { signal, onEvent }), { seconds: flags.seconds })
  }

  async #show(event: WatchEvent, file: DeviceFile, drawing: PictureOptions): Promise<void> {
    if (this.jsonEnabled()) process.stdout.write(jsonLines([event]))
    else if (event.event === 'listening') this.note(`Listening for pushes of ${event.source}; Ctrl-C ends it.`)
    else if (event.event === 'problem') this.note(`Problem: ${event.message}`)
    else {
      const device = file.read()
      this.log(bannerLines(device, event))
      this.log(await drawDevice(device, drawing, new Set([event.pass])))
    }
  }
}
