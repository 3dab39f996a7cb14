import { randomUUID } from 'node:crypto'
import { UsageError } from '../command/errors.ts'
import { createApplePhone } from './apple/phone.ts'
import { createGooglePhone } from './google/phone.ts'
import type { Phone } from './phone.ts'
import type { AppleDevice, Device, DevicePlatform, GoogleDevice } from './state.ts'
import { createDevice, type DeviceFile, openDevice } from './store.ts'

export const devicePlatforms = ['apple', 'google'] as const satisfies DevicePlatform[]

const defaultNames: Record<DevicePlatform, string> = { apple: 'iphone', google: 'android' }

/** The phone that plays what is in the file. */
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
    ? { platform, name, accounts: [], passes: [] }
    : { platform, name, deviceId: randomUUID(), passes: [] }
}
