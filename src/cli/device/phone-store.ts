import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { googleTexts } from '../../core/rules/display/google-view.ts'
import { underLock } from '../../files/file-lock.ts'
import { ifMissing, makePrivateFolder, replacePrivateSync } from '../../files/private-file.ts'
import { CliError, UsageError } from '../command/cli-error.ts'
import { PassJson } from './apple-pass-json.ts'
import { PassStrings } from './apple-strings.ts'

const Record = z.record(z.string(), z.unknown())

/** The state that iOS shares among all passes of one type at one service. */
const AppleAccount = z.object({
  passTypeIdentifier: z.string(),
  webServiceURL: z.string(),
  /** The address at which the server publishes its APNs emulator. */
  directory: z.string(),
  /** PassKit's deviceLibraryIdentifier. */
  deviceId: z.string(),
  pushToken: z.string(),
  /** The tag of the last list of changed serial numbers; `null` before the first list. */
  updatedSince: z.string().nullable(),
})
export type AppleAccount = z.output<typeof AppleAccount>

const ApplePass = z.object({
  content: PassJson,
  strings: PassStrings.default({}),
  /** The `Last-Modified` header of the shown content; `null` until it was first fetched from the web service. */
  lastModified: z.string().nullable(),
  installedAt: z.string(),
  updatedAt: z.string(),
})
export type ApplePass = z.output<typeof ApplePass>

const GooglePass = z.object({
  directory: z.string(),
  kind: z.string(),
  objectId: z.string(),
  object: Record,
  class: Record,
  /** The version of the object, which increases with every change at Google. */
  version: z.number(),
  installedAt: z.string(),
  updatedAt: z.string(),
})
export type GooglePass = z.output<typeof GooglePass>

/** The phone's language, a BCP 47 tag. If the phone's file has no language, this is English. */
const Spoken = z.string().default('en')

export const iosVersions = [26, 27] as const
export type IosVersion = (typeof iosVersions)[number]
export const NEWEST_IOS: IosVersion = 27

export const AppleDevice = z.object({
  platform: z.literal('apple'),
  name: z.string(),
  language: Spoken,
  ios: z.literal(iosVersions).default(NEWEST_IOS),
  accounts: z.array(AppleAccount),
  passes: z.array(ApplePass),
})
export type AppleDevice = z.output<typeof AppleDevice>

export const GoogleDevice = z.object({
  platform: z.literal('google'),
  name: z.string(),
  language: Spoken,
  deviceId: z.string(),
  passes: z.array(GooglePass),
})
export type GoogleDevice = z.output<typeof GoogleDevice>

export const Device = z.discriminatedUnion('platform', [AppleDevice, GoogleDevice])
export type Device = z.output<typeof Device>
export type DevicePlatform = Device['platform']

export interface DeviceFile<D extends Device = Device> {
  readonly name: string
  read(): D
  /** Reads, changes, and writes the state under a lock; the file is replaced atomically. */
  update(change: (device: D) => D): Promise<D>
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

export function listDevices(folder: string): Device[] {
  return namesIn(folder).map((name) => readDevice(folder, name))
}

/** Creates a phone, unless a phone with its name exists. */
export function createDevice(folder: string, device: Device): void {
  if (!NAME.test(device.name)) {
    throw new UsageError(`--device ${device.name} must be at most 64 letters, digits, dots, underscores, and hyphens`)
  }
  makePrivateFolder(folder)
  if (!namesIn(folder).includes(device.name)) write(folder, device)
}

/** Opens the phone with a name, or, without a name, the only phone. @throws UsageError */
export function openDevice(folder: string, name: string | undefined): DeviceFile {
  const names = namesIn(folder)
  if (names.length === 0) {
    throw new UsageError('No phone was created yet', {
      hint: 'to create one, run "passes device install LINK --platform apple".',
    })
  }
  const [only] = names
  const chosen = name ?? (names.length === 1 ? only : undefined)
  if (chosen === undefined) throw new UsageError(`Several phones exist: choose one of ${names.join(', ')}`)
  if (!names.includes(chosen))
    throw new UsageError(`The phone ${chosen} does not exist; choose one of ${names.join(', ')}`)
  return {
    name: chosen,
    read: () => readDevice(folder, chosen),
    // Lock the file. Otherwise, a process that watches the phone could overwrite the changes of another process.
    update: (change) =>
      underLock(join(folder, chosen), () => {
        const changed = change(readDevice(folder, chosen))
        write(folder, changed)
        return changed
      }),
  }
}

function namesIn(folder: string): string[] {
  try {
    const files = readdirSync(folder).filter((file) => file.endsWith('.json'))
    return files.map((file) => file.slice(0, -'.json'.length)).toSorted()
  } catch (error) {
    return ifMissing([])(error)
  }
}

function readDevice(folder: string, name: string): Device {
  const path = join(folder, `${name}.json`)
  try {
    return Device.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch (cause) {
    throw new CliError(`${path} is not the file of a virtual phone`, { hint: 'delete it to start over.', cause })
  }
}

function write(folder: string, device: Device): void {
  const path = join(folder, `${device.name}.json`)
  replacePrivateSync(path, `${JSON.stringify(device, undefined, 2)}\n`)
}

const Message = z.object({
  id: z.string().optional(),
  header: z.string().default(''),
  body: z.string().default(''),
  messageType: z.string().optional(),
})
export type Message = z.output<typeof Message>

/** Returns the messages of an object or a class in the given language. Skips invalid messages. */
function messagesIn(resource: Record<string, unknown>, language: string): Message[] {
  const messages = googleTexts(resource.messages, language)
  const list = Array.isArray(messages) ? messages : []
  return list.flatMap((value) => Message.safeParse(value).data ?? [])
}

export function messagesOf(pass: Pick<GooglePass, 'object' | 'class'>, language: string): Message[] {
  return [...messagesIn(pass.object, language), ...messagesIn(pass.class, language)]
}

export function newMessages(
  before: Pick<GooglePass, 'object' | 'class'>,
  after: Pick<GooglePass, 'object' | 'class'>,
  language: string,
): string[] {
  const seen = new Set(messagesOf(before, language).map(keyOf))
  return messagesOf(after, language)
    .filter((message) => message.messageType === 'TEXT_AND_NOTIFY' && !seen.has(keyOf(message)))
    .map(({ header, body }) => `${header}: ${body}`)
}

function keyOf({ id, header, body }: Message): string {
  return id ?? JSON.stringify([header, body])
}

export interface PassChange {
  /** The serial number of an iPhone's pass, or the object id of an Android phone's pass. */
  pass: string
  /** The lock screen texts; empty if the update is silent. */
  banners: string[]
  at: string
}

export interface CheckResult {
  changes: PassChange[]
  /** Problems that prevented an update; a real phone only logs them. */
  problems: string[]
}

export interface PushSource {
  name: string
  /** Returns the current address of the emulator, which can change when the server restarts. */
  locate(): Promise<string>
}

export interface Phone {
  /** Opens a hosted link and installs its pass; resolves to its serial number or object id. */
  install(link: string): Promise<string>
  check(): Promise<CheckResult>
  remove(pass: string): Promise<void>
  sources(): PushSource[]
}
