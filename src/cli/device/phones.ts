import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { CliError, UsageError } from '../command/errors.ts'
import { createApplePhone } from './apple-phone.ts'
import { createGooglePhone } from './google-phone.ts'
import { listen } from './http.ts'
import {
  type AppleDevice,
  createDevice,
  type Device,
  type DeviceFile,
  type DevicePlatform,
  type GoogleDevice,
  openDevice,
  type PassChange,
  type Phone,
  type PushSource,
} from './store.ts'

/** The platforms that a virtual phone may be of. */
export const devicePlatforms = ['apple', 'google'] as const satisfies DevicePlatform[]

const defaultNames: Record<DevicePlatform, string> = { apple: 'iphone', google: 'android' }

/** The virtual phone of a file. */
export function phoneOf(file: DeviceFile): Phone {
  return file.read().platform === 'apple'
    ? createApplePhone(file as DeviceFile<AppleDevice>)
    : createGooglePhone(file as DeviceFile<GoogleDevice>)
}

/**
 * The file of a phone of that platform, which is made where there is none.
 * @throws UsageError where the name belongs to a phone of the other platform
 */
export function deviceFor(folder: string, platform: DevicePlatform, name = defaultNames[platform]): DeviceFile {
  createDevice(folder, newDevice(platform, name))
  const file = openDevice(folder, name)
  const existing = file.read().platform
  if (existing !== platform) throw new UsageError(`The phone ${name} is one of ${existing}: give another --device`)
  return file
}

/** Serial numbers or object ids, in the order in which they were installed. */
export function passIdsOf(device: Device): string[] {
  return device.platform === 'apple'
    ? device.passes.map(({ content }) => content.serialNumber)
    : device.passes.map(({ objectId }) => objectId)
}

/**
 * The pass of that id; of Google's object ids the part after the issuer will do.
 * @throws UsageError
 */
export function findPassId(device: Device, id: string): string {
  const found = passIdsOf(device).find((candidate) => candidate === id || candidate.endsWith(`.${id}`))
  if (found === undefined) throw new UsageError(`The phone ${device.name} holds no pass ${id}`)
  return found
}

function newDevice(platform: DevicePlatform, name: string): Device {
  return platform === 'apple'
    ? { platform, name, language: 'en', accounts: [], passes: [] }
    : { platform, name, language: 'en', deviceId: randomUUID(), passes: [] }
}

/** What happens to a phone that is kept awake, one line of `device watch --json` each. */
export type WatchEvent =
  | { event: 'listening'; source: string }
  | ({ event: 'change' } & PassChange)
  | { event: 'problem'; message: string }

/** How a phone is kept awake. */
export interface WatchOptions {
  /** Ends the watch. */
  signal: AbortSignal
  onEvent: (event: WatchEvent) => Promise<void> | void
}

const RECONNECT_MS = 500

/**
 * Keeps the phone awake: it receives pushes and asks for changes at each, and also whenever a connection stands anew, since
 * a push that was sent meanwhile may be lost. Resolves when the signal ends it.
 */
export async function watch(phone: Phone, options: WatchOptions): Promise<void> {
  await Promise.all(phone.sources().map((source) => follow(phone, source, options)))
}

async function follow(phone: Phone, source: PushSource, { signal, onEvent }: WatchOptions): Promise<void> {
  let told = ''
  while (!signal.aborted) {
    let isFirst = true
    try {
      await listen(await source.locate(), signal, async () => {
        if (isFirst) await onEvent({ event: 'listening', source: source.name })
        isFirst = false
        await look(phone, onEvent)
        told = ''
      })
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof CliError)) throw error
      // Once is enough while a server is away.
      if (error.message !== told) await onEvent({ event: 'problem', message: error.message })
      told = error.message
    }
    // Ended by the signal, the loop ends by itself.
    await sleep(RECONNECT_MS, undefined, { signal }).catch(() => undefined)
  }
}

async function look(phone: Phone, onEvent: WatchOptions['onEvent']): Promise<void> {
  const { changes, problems } = await phone.check()
  for (const change of changes) await onEvent({ event: 'change', ...change })
  for (const message of problems) await onEvent({ event: 'problem', message })
}
