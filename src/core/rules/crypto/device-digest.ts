import { createHash } from 'node:crypto'

/** As many characters tell the devices of a pass apart; the whole id would be a key to what the phone holds. */
const CHARACTERS = 12

/** What the interface shows of the id of a device: hexadecimal digits of its SHA-256. */
export function deviceDigest(deviceId: string): string {
  return createHash('sha256').update(deviceId).digest('hex').slice(0, CHARACTERS)
}
