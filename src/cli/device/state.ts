import { z } from 'zod'
import { PassJson } from './apple/pass-json.ts'

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
  /** The HTTP date of what is shown; null until it was first fetched from the web service. */
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
  /** Grows with every change at Google. */
  version: z.number(),
  installedAt: z.string(),
  updatedAt: z.string(),
})
export type GooglePass = z.output<typeof GooglePass>

export const AppleDevice = z.object({
  platform: z.literal('apple'),
  name: z.string(),
  accounts: z.array(AppleAccount),
  passes: z.array(ApplePass),
})
export type AppleDevice = z.output<typeof AppleDevice>

export const GoogleDevice = z.object({
  platform: z.literal('google'),
  name: z.string(),
  deviceId: z.string(),
  passes: z.array(GooglePass),
})
export type GoogleDevice = z.output<typeof GoogleDevice>

export const Device = z.discriminatedUnion('platform', [AppleDevice, GoogleDevice])
export type Device = z.output<typeof Device>
export type DevicePlatform = Device['platform']
