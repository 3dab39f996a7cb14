let counter = 0

/**
 * Makes 16 random bytes those of a UUID of version 7, in place: its order is the order of creation. Those made in one process
 * for one millisecond still ascend. For servers and browsers alike.
 */
export function makeTimeOrdered<T extends Uint8Array>(random: T, at: Date): T {
  // Never set back: ids for several moments are made by turns. Once in 67,108,864 ids it begins anew, and the order within
  // that millisecond is by chance.
  counter = (counter + 1) & 0x3ffffff
  const view = new DataView(random.buffer, random.byteOffset, 16)
  const time = at.getTime()
  view.setUint16(0, Math.floor(time / 2 ** 32))
  view.setUint32(2, time >>> 0)
  // 12 + 14 bits of counter after the time, each with its mark of version or variant.
  view.setUint16(6, 0x7000 | (counter >> 14))
  view.setUint16(8, 0x8000 | (counter & 0x3fff))
  return random
}

/** The text of a UUID from its 32 hexadecimal digits. */
export function uuidText(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Stands for no id, and before all of them (RFC 9562, 5.9). */
export const NIL_UUID = '00000000-0000-0000-0000-000000000000'

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Whether a text is written as an id is, in either case, so that it can be looked for by that; servers and browsers alike. */
export function isUuidText(text: string): boolean {
  return UUID.test(text)
}
