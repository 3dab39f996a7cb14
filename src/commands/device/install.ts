import { Args, Flags } from '@oclif/core'
import { UsageError } from '../../cli/command/cli-error.ts'
import { DeviceCommand, languageFlag } from '../../cli/device/device-command.ts'
import { drawDevice } from '../../cli/device/phone-output.ts'
import { deviceFor, devicePlatforms, phoneOf } from '../../cli/device/phones.ts'

export default class DeviceInstall extends DeviceCommand {
  static override summary = 'Install a pass on a virtual phone through its hosted link.'
  static override description =
    'Works with a server whose platform runs in the sandbox. The iPhone verifies the package, its signature, and its ' +
    'chain as iOS does, and registers for pushes. The Android phone passes the save link to the Google emulator.'
  static override examples = [
    '<%= config.bin %> device install http://127.0.0.1:3000/l/EAGZ… --platform apple',
    '<%= config.bin %> device install http://127.0.0.1:3000/l/EAGZ… --platform google --device pixel',
    '<%= config.bin %> device install http://127.0.0.1:3000/l/EAGZ… --platform apple --device tokyo --language ja',
  ]
  static override args = {
    link: Args.string({ description: 'Apple, Google, or smart link of the pass.', required: true }),
  }
  static override flags = {
    platform: Flags.option({ options: devicePlatforms })({ summary: 'Kind of the phone.', required: true }),
    device: Flags.string({ summary: 'Name of the phone, created if it does not exist (iphone or android).' }),
    ...languageFlag('Language of the phone, such as ar; en for a new phone.'),
  }

  async run() {
    const { args, flags } = await this.parse(DeviceInstall)
    if (!/^https?:/.test(args.link) || !URL.canParse(args.link)) throw new UsageError(`${args.link} is not a link`)
    const { platform, device: name, language } = flags
    const file = deviceFor(this.folderOf(flags), platform, name)
    if (language !== undefined) await file.update((device) => ({ ...device, language }))
    const pass = await phoneOf(file).install(args.link)
    this.log(await drawDevice(file.read(), this.drawing(flags), new Set([pass])))
    this.note(`Installed on ${file.name}. passes device watch ${file.name} shows its updates as they come.`)
    return { device: file.name, platform, pass }
  }
}
