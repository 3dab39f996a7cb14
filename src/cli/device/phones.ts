import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { CliError, UsageError } from '../command/cli-error.ts'
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
  NEWEST_IOS,
  openDevice,
  type PassChange,
  type Phone,
  type PushSource,
} from './phone-store.ts'

export const devicePlatforms = ['apple', 'google'] as const satisfies DevicePlatform[]

const defaultNames: Record<DevicePlatform, string> = { apple: 'iphone', google: 'android' }

export function phoneOf(file: DeviceFile): Phone {
  return file.read().platform === 'apple'
    ? createApplePhone(file as DeviceFile<AppleDevice>)
    : createGooglePhone(file as DeviceFile<GoogleDevice>)
}

/** @throws UsageError if the name belongs to a phone of the other platform */
export function deviceFor(folder: string, platform: DevicePlatform, name = defaultNames[platform]): DeviceFile {
  createDevice(folder, newDevice(platform, name))
  const file = openDevice(folder, name)
  const existing = file.read().platform
  if (existing !== platform)
    throw new UsageError(`The phone ${name} belongs to the platform ${existing}: give another --device`)
  return file
}

/** Returns serial numbers or object ids, in order of installation. */
export function passIdsOf(device: Device): string[] {
  return device.platform === 'apple'
    ? device.passes.map(({ content }) => content.serialNumber)
    : device.passes.map(({ objectId }) => objectId)
}

/**
 * Returns the full id of a pass. Google object ids also match without their issuer prefix.
 * @throws UsageError
 */
export function findPassId(device: Device, id: string): string {
  const found = passIdsOf(device).find((candidate) => candidate === id || candidate.endsWith(`.${id}`))
  if (found === undefined) throw new UsageError(`The phone ${device.name} holds no pass ${id}`)
  return found
}

function newDevice(platform: DevicePlatform, name: string): Device {
  return platform === 'apple'
    ? { platform, name, language: 'en', ios: NEWEST_IOS, accounts: [], passes: [] }
    : { platform, name, language: 'en', deviceId: randomUUID(), passes: [] }
}

/** An event of a watched phone: one line of `device watch --json`. */
export type WatchEvent =
  | { event: 'listening'; source: string }
  | ({ event: 'change' } & PassChange)
  | { event: 'problem'; message: string }

export interface WatchOptions {
  signal: AbortSignal
  onEvent: (event: WatchEvent) => Promise<void> | void
}

const RECONNECT_MS = 500

/**
 * Receives pushes. Checks for changes after each push, and after each reconnection, because pushes can be lost while
 * disconnected. Resolves when the signal aborts.
 */
export async function watch(phone: Phone, options: WatchOptions): Promise<void> {
  await Promise.all(phone.sources().map((source) => follow(phone, source, options)))
}

async function follow(phone: Phone, source: PushSource, { signal, onEvent }: WatchOptions): Promise<void> {
  let lastProblem = ''
  while (!signal.aborted) {
    let isFirst = true
    try {
      await listen(await source.locate(), signal, async () => {
        if (isFirst) await onEvent({ event: 'listening', source: source.name })
        isFirst = false
        await refresh(phone, onEvent)
        lastProblem = ''
      })
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof CliError)) throw error
      // Report a problem only once while it persists. Otherwise, each reconnection would report the problem again.
      if (error.message !== lastProblem) await onEvent({ event: 'problem', message: error.message })
      lastProblem = error.message
    }
    // Ignore the abort error: the loop condition ends the loop.
    await sleep(RECONNECT_MS, undefined, { signal }).catch(() => undefined)
  }
}

async function refresh(phone: Phone, onEvent: WatchOptions['onEvent']): Promise<void> {
  const { changes, problems } = await phone.check()
  for (const change of changes) await onEvent({ event: 'change', ...change })
  for (const message of problems) await onEvent({ event: 'problem', message })
}
