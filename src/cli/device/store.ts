import { closeSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { googleTexts } from '../../core/rules/display/google-view.ts'
import { makePrivateFolder, openPrivateSync, replacePrivateSync } from '../../files/private-file.ts'
import { CliError, UsageError } from '../command/errors.ts'
import { PassJson } from './apple-pass-json.ts'
import { PassStrings } from './apple-strings.ts'

/** What a virtual phone knows, as it stands in its file. */

const Record = z.record(z.string(), z.unknown())

/** What iOS keeps for all passes of one type from one service. */
const AppleAccount = z.object({
  passTypeIdentifier: z.string(),
  webServiceURL: z.string(),
  /** Where the server says what stands in for APNs. */
  directory: z.string(),
  /** PassKit's deviceLibraryIdentifier. */
  deviceId: z.string(),
  pushToken: z.string(),
  /** The tag of the last list of changed serials; null before the first. */
  updatedSince: z.string().nullable(),
})
export type AppleAccount = z.output<typeof AppleAccount>

const ApplePass = z.object({
  content: PassJson,
  /** The texts of each language of the package, by those of pass.json. */
  strings: PassStrings.default({}),
  /** The HTTP date of what is shown; null until it was first fetched from the web service. */
  lastModified: z.string().nullable(),
  installedAt: z.string(),
  updatedAt: z.string(),
})
/** A pass on a virtual iPhone. */
export type ApplePass = z.output<typeof ApplePass>

const GooglePass = z.object({
  directory: z.string(),
  kind: z.string(),
  objectId: z.string(),
  object: Record,
  class: Record,
  /** Grows with every change at Google. */
  version: z.number(),
  installedAt: z.string(),
  updatedAt: z.string(),
})
/** A pass on a virtual Android phone. */
export type GooglePass = z.output<typeof GooglePass>

/** Which language the phone speaks, as BCP 47 has it; before there were any they spoke English. */
const Spoken = z.string().default('en')

/** A virtual iPhone as its file holds it. */
export const AppleDevice = z.object({
  platform: z.literal('apple'),
  name: z.string(),
  language: Spoken,
  accounts: z.array(AppleAccount),
  passes: z.array(ApplePass),
})
export type AppleDevice = z.output<typeof AppleDevice>

/** A virtual Android phone as its file holds it. */
export const GoogleDevice = z.object({
  platform: z.literal('google'),
  name: z.string(),
  language: Spoken,
  deviceId: z.string(),
  passes: z.array(GooglePass),
})
export type GoogleDevice = z.output<typeof GoogleDevice>

/** A virtual phone of either platform. */
export const Device = z.discriminatedUnion('platform', [AppleDevice, GoogleDevice])
export type Device = z.output<typeof Device>
/** Which kind of phone it is, by the wallet that it has. */
export type DevicePlatform = Device['platform']

/** The file of one virtual phone. */
export interface DeviceFile<D extends Device = Device> {
  readonly name: string
  read(): D
  /** Reads, changes and writes with nobody in between; the file is replaced as a whole. */
  update(change: (device: D) => D): Promise<D>
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const LOCK_PATIENCE_MS = 5_000
const LOCK_POLL_MS = 10

/** The phones of a folder, by name. */
export function listDevices(folder: string): Device[] {
  return namesIn(folder).map((name) => readDevice(folder, name))
}

/** Makes the phone where there is none of that name. */
export function createDevice(folder: string, device: Device): void {
  if (!NAME.test(device.name)) {
    throw new UsageError(`--device ${device.name} must be letters, digits, dots, underscores and hyphens, 64 at most`)
  }
  makePrivateFolder(folder)
  if (!namesIn(folder).includes(device.name)) write(folder, device)
}

/**
 * The phone of that name, or the only one.
 * @throws UsageError
 */
export function openDevice(folder: string, name: string | undefined): DeviceFile {
  const names = namesIn(folder)
  if (names.length === 0) {
    throw new UsageError('There is no phone yet', { hint: 'passes device install LINK --platform apple makes one.' })
  }
  const [only] = names
  const chosen = name ?? (names.length === 1 ? only : undefined)
  if (chosen === undefined) throw new UsageError(`Which phone? There are ${names.join(', ')}`)
  if (!names.includes(chosen)) throw new UsageError(`There is no phone ${chosen}; there are ${names.join(', ')}`)
  return {
    name: chosen,
    read: () => readDevice(folder, chosen),
    update: (change) =>
      locked(join(folder, `${chosen}.lock`), () => {
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
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function readDevice(folder: string, name: string): Device {
  const path = join(folder, `${name}.json`)
  try {
    return Device.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch (cause) {
    throw new CliError(`${path} is not the file of a virtual phone`, { hint: 'delete it to start afresh.', cause })
  }
}

function write(folder: string, device: Device): void {
  const path = join(folder, `${device.name}.json`)
  replacePrivateSync(path, `${JSON.stringify(device, undefined, 2)}\n`)
}

/** One writer at a time, since a phone may be watched by one process and used by another. */
async function locked<T>(path: string, work: () => T): Promise<T> {
  while (!takeLock(path)) await sleep(LOCK_POLL_MS)
  try {
    return work()
  } finally {
    rmSync(path, { force: true })
  }
}

function takeLock(path: string): boolean {
  try {
    closeSync(openPrivateSync(path, 'wx'))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  // Work under the lock takes milliseconds: one that is older was left by a process that was killed.
  const takenAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
  if (Date.now() - takenAt > LOCK_PATIENCE_MS) rmSync(path, { force: true })
  return false
}

const Message = z.object({
  id: z.string().optional(),
  header: z.string().default(''),
  body: z.string().default(''),
  messageType: z.string().optional(),
})
/** A message of a Google object or class, as the phone shows it. */
export type Message = z.output<typeof Message>

/** Messages of an object or a class as a phone of a language reads them; what is none is left out. */
function messagesIn(resource: Record<string, unknown>, language: string): Message[] {
  const messages = googleTexts(resource.messages, language)
  const list = Array.isArray(messages) ? messages : []
  return list.flatMap((value) => Message.safeParse(value).data ?? [])
}

/** The messages of a pass: those of its object and those of its class. */
export function messagesOf(pass: Pick<GooglePass, 'object' | 'class'>, language: string): Message[] {
  return [...messagesIn(pass.object, language), ...messagesIn(pass.class, language)]
}

/** What an Android phone shows when a pass comes with messages that notify and that it has not seen. */
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

/** What commands ask of a virtual phone, whichever platform it is of. */

/** What became of one pass. */
export interface PassChange {
  /** Serial number or object id. */
  pass: string
  /** What the lock screen shows; empty where the phone updates the pass in silence. */
  banners: string[]
  at: string
}

/** What a phone found when it asked its platform for changes. */
export interface CheckResult {
  changes: PassChange[]
  /** What kept the phone from showing what the server has; a real one would only log it. */
  problems: string[]
}

/** Where pushes come from, which say that there are changes. */
export interface PushSource {
  name: string
  /** Where to listen, as it stands now: a server that was restarted may have moved its emulators. */
  locate(): Promise<string>
}

/** A virtual phone of either platform. */
export interface Phone {
  /** Opens a hosted link and installs its pass; resolves to its serial number or object id. */
  install(link: string): Promise<string>
  /** Asks for changes and takes them. */
  check(): Promise<CheckResult>
  /** Removes a pass and says so to its platform. */
  remove(pass: string): Promise<void>
  sources(): PushSource[]
}
