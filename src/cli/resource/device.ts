import { Args, Flags } from '@oclif/core'
import { jsonLines } from '../arguments/list-flags.ts'
import { drawing } from '../command/base-command.ts'
import { UsageError } from '../command/cli-error.ts'
import { untilStopped } from '../command/program.ts'
import { itemsCommand, localCommand, type ResourceCommands } from '../command/resource-command.ts'
import { bannerLines, describeDevice, drawDevice } from '../device/phone-output.ts'
import { type Device, type IosVersion, iosVersions, listDevices, openDevice } from '../device/phone-store.ts'
import { deviceFor, devicePlatforms, findPassId, passIdsOf, phoneOf, type WatchEvent, watch } from '../device/phones.ts'
import type { ListShape } from '../list/shape.ts'
import { devicesFolder } from '../settings/settings.ts'

interface DeviceItem {
  name: string
  platform: string
  passes: string[]
}

const shape: ListShape<DeviceItem> = {
  columns: [{ name: 'name', whole: true }, ['platform'], { name: 'passes', value: ({ passes }) => passes.length }],
}

const dataFlag = {
  'data-dir': Flags.string({
    summary: 'Folder of the virtual phones (default: passes/devices in XDG_DATA_HOME).',
    helpGroup: 'GLOBAL',
  }),
}

const shownFlags = {
  ...dataFlag,
  language: languageFlag('Language in which the passes are shown (default: the language of the phone).'),
  ios: iosFlag('Version of iOS in which the passes are shown (default: the version of the phone).'),
}

const PHONE = 'Name of the phone (default: the only one).'
const nameArgs = { name: Args.string({ description: PHONE }) }

export const commands: ResourceCommands = {
  'device:install': localCommand({
    summary: 'Install a pass on a virtual phone through its hosted link.',
    description:
      'Works only if the server runs the platform in the sandbox. The iPhone verifies the package, its signature, and ' +
      'its certificate chain as iOS does, and registers for pushes. The Android phone sends the save link to the ' +
      'Google emulator.',
    examples: [
      'device install http://127.0.0.1:3000/l/EAGZ… --platform apple',
      'device install http://127.0.0.1:3000/l/EAGZ… --platform google --device pixel',
      'device install http://127.0.0.1:3000/l/EAGZ… --platform apple --device tokyo --language ja',
      'device install http://127.0.0.1:3000/l/EAGZ… --platform apple --device older --ios 26',
    ],
    args: {
      link: Args.string({ description: 'Apple, Google, or smart link of the pass.', required: true }),
    },
    flags: {
      ...dataFlag,
      platform: Flags.option({ options: devicePlatforms })({
        summary: 'Platform of the phone: apple for an iPhone, google for an Android phone.',
        required: true,
      }),
      device: Flags.string({
        summary: 'Name of the phone, which is created if it does not exist (default: iphone or android).',
      }),
      language: languageFlag('Language of the phone, such as ar (default for a new phone: en).'),
      ios: iosFlag('Version of iOS of the phone (default for a new iPhone: 27).'),
    },
    async run({ args, flags }) {
      if (!/^https?:/.test(args.link) || !URL.canParse(args.link)) throw new UsageError(`${args.link} is not a link`)
      const { platform, device: name } = flags
      if (platform !== 'apple' && flags.ios !== undefined) throw new UsageError('--ios requires --platform apple')
      const file = deviceFor(folderOf(flags), platform, name)
      if (flags.language !== undefined || flags.ios !== undefined) await file.update((device) => shownAs(device, flags))
      const pass = await phoneOf(file).install(args.link)
      return { device: file.name, platform, pass }
    },
    print: ({ device, pass }, { flags }) =>
      drawDevice(openDevice(folderOf(flags), device).read(), drawing(flags), new Set([pass])),
    note: ({ device }) =>
      `Installed on ${device}. To see updates when they arrive, run "passes device watch ${device}".`,
  }),
  'device:list': itemsCommand({
    summary: 'List virtual phones.',
    examples: ['device list', 'device list --json'],
    flags: dataFlag,
    read: ({ flags }) =>
      listDevices(folderOf(flags)).map((device) => {
        return { name: device.name, platform: device.platform, passes: passIdsOf(device) }
      }),
    shape,
    noun: ['phone', 'phones'],
    empty: 'Next: passes device install',
  }),
  'device:show': localCommand({
    summary: 'Draw the current passes of a virtual phone, without fetching updates.',
    examples: ['device show', 'device show pixel --language de'],
    args: nameArgs,
    flags: shownFlags,
    run: ({ args, flags }) => shownAs(openDevice(folderOf(flags), args.name).read(), flags),
    value: describeDevice,
    print: (device, { flags }) => drawDevice(device, drawing(flags)),
  }),
  'device:open': localCommand({
    summary: 'Open a virtual phone: it fetches updates, and shows its passes.',
    examples: ['device open', 'device open iphone --json'],
    args: nameArgs,
    flags: shownFlags,
    async run({ args, flags }) {
      const file = openDevice(folderOf(flags), args.name)
      const { changes, problems } = await phoneOf(file).check()
      if (problems.length > 0) process.exitCode = 1
      return { device: file.name, changes, problems }
    },
    async print({ device: name, changes }, { flags }) {
      const device = shownAs(openDevice(folderOf(flags), name).read(), flags)
      const banners = changes.map((change) => bannerLines(device, change))
      return [...banners, await drawDevice(device, drawing(flags))].join('\n')
    },
    note: ({ problems }) => problems.map((problem) => `Problem: ${problem}`).join('\n') || undefined,
  }),
  'device:watch': localCommand({
    summary: 'Keep a virtual phone awake: it receives pushes, and shows the banner and the new pass.',
    description:
      'With --json, prints one event per line: {"event": "listening" | "change" | "problem", …}. Ends with Ctrl-C, or ' +
      'after --seconds.',
    examples: ['device watch', 'device watch iphone --seconds 60 --json'],
    args: nameArgs,
    flags: {
      ...dataFlag,
      seconds: Flags.integer({
        summary: 'Seconds after which the command ends (default: only Ctrl-C ends it).',
        min: 1,
      }),
    },
    run({ args, flags, isJson, note }) {
      const file = openDevice(folderOf(flags), args.name)
      const phone = phoneOf(file)
      if (phone.sources().length === 0) {
        throw new UsageError(`The phone ${file.name} holds no pass`, {
          hint: 'install one with "passes device install".',
        })
      }
      const onEvent = async (event: WatchEvent) => {
        if (isJson) process.stdout.write(jsonLines([event]))
        else if (event.event === 'listening') note(`Listening for pushes of ${event.source}. Press Ctrl-C to stop.`)
        else if (event.event === 'problem') note(`Problem: ${event.message}`)
        else {
          const device = file.read()
          const picture = await drawDevice(device, drawing(flags), new Set([event.pass]))
          process.stdout.write(`${bannerLines(device, event)}\n${picture}\n`)
        }
      }
      return untilStopped((signal) => watch(phone, { signal, onEvent }), { seconds: flags.seconds })
    },
  }),
  'device:remove': localCommand({
    summary: 'Remove a pass from a virtual phone, which reports the removal to its platform.',
    examples: ['device remove 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33', 'device remove --all --device pixel'],
    args: { pass: Args.string({ description: 'Serial number (Apple) or object ID (Google) of the pass.' }) },
    flags: {
      ...dataFlag,
      device: Flags.string({ summary: PHONE }),
      all: Flags.boolean({ summary: 'Remove every pass of the phone.', default: false }),
    },
    async run({ args, flags }) {
      if ((args.pass === undefined) !== flags.all) throw new UsageError('Give one pass, or --all')
      const file = openDevice(folderOf(flags), flags.device)
      const device = file.read()
      const removed = args.pass === undefined ? passIdsOf(device) : [findPassId(device, args.pass)]
      const phone = phoneOf(file)
      for (const pass of removed) await phone.remove(pass)
      return { device: file.name, removed }
    },
    print: ({ removed }) => `Removed ${removed.length === 1 ? removed[0] : `${removed.length} passes`}.`,
  }),
}

function folderOf(flags: { 'data-dir'?: string | undefined }): string {
  return flags['data-dir'] ?? devicesFolder()
}

function shownAs(
  device: Device,
  { language = device.language, ios }: { language?: string | undefined; ios?: IosVersion | undefined },
): Device {
  if (device.platform === 'apple') return { ...device, language, ios: ios ?? device.ios }
  if (ios !== undefined) throw new UsageError(`--ios is for iPhones, and ${device.name} is an Android phone`)
  return { ...device, language }
}

function iosFlag(summary: string) {
  return Flags.custom<IosVersion>({
    summary,
    options: iosVersions.map(String),
    parse: async (input) => Number(input) as IosVersion,
  })()
}

function languageFlag(summary: string) {
  return Flags.string({
    summary,
    parse: async (input) => {
      if (isLanguage(input)) return input
      throw new UsageError(`--language ${input} is not a language such as de, pt-BR or zh-Hans`)
    },
  })
}

function isLanguage(input: string): boolean {
  try {
    return new Intl.Locale(input).toString() === input
  } catch {
    return false
  }
}
