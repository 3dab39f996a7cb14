import { createHmac } from 'node:crypto'

/** Enough characters to distinguish the devices of a pass. The whole ID would list the passes on the phone. */
const CHARACTERS = 12

/** Returns the form of a device ID that the API shows: hexadecimal digits that differ for each workspace. */
export function deviceDigest(workspaceId: string, deviceId: string): string {
  return createHmac('sha256', workspaceId).update(deviceId).digest('hex').slice(0, CHARACTERS)
}
