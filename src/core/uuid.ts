let counter = 0

/**
 * Turns 16 random bytes into a UUID of version 7, in place. These UUIDs sort by creation time. If one process creates
 * several within a millisecond, they also ascend. Works in servers and browsers.
 */
export function makeTimeOrdered<T extends Uint8Array>(random: T, at: Date): T {
  // Do not reset the counter in a new millisecond: if calls alternated between two times, IDs with the same time would
  // not ascend. When the counter wraps (after 67,108,864 IDs), the IDs of that millisecond do not ascend.
  counter = (counter + 1) & 0x3ffffff
  const view = new DataView(random.buffer, random.byteOffset, 16)
  const time = at.getTime()
  view.setUint16(0, Math.floor(time / 2 ** 32))
  view.setUint32(2, time >>> 0)
  // The first six bytes are the time. The counter follows: 12 bits after the version, and 14 bits after the variant.
  view.setUint16(6, 0x7000 | (counter >> 14))
  view.setUint16(8, 0x8000 | (counter & 0x3fff))
  return random
}

export function uuidText(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** The nil UUID, which sorts before all IDs (RFC 9562, 5.9). */
export const NIL_UUID = '00000000-0000-0000-0000-000000000000'

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Whether a text is a UUID in upper or lower case. Works in servers and browsers. */
export function isUuidText(text: string): boolean {
  return UUID.test(text)
}
