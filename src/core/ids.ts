import { createHash, randomBytes } from 'node:crypto'
import { z } from 'zod'

/** An identifier as the interface takes and shows it: any UUID of versions 1 to 8, nil or max; lower case (spec 2). */
export const Uuid = z.string().toLowerCase().pipe(z.uuid('Must be a UUID')).meta({ type: 'string', format: 'uuid' })

let lastMillisecond = 0
let counter = 0

/**
 * A UUID of version 7: its order is the order of creation, so an index on it is also an index on the creation time.
 * Ids made in one process within one millisecond still ascend.
 */
export function newId(at: Date): string {
  const millisecond = at.getTime()
  if (millisecond === lastMillisecond) counter += 1
  else {
    lastMillisecond = millisecond
    counter = 0
  }
  const bytes = randomBytes(16)
  bytes.writeUIntBE(millisecond, 0, 6)
  // 12 + 6 bits of counter behind the time; past that (262,144 ids in a millisecond) order within it is by chance.
  const sequence = counter & 0x3ffff
  bytes.writeUInt16BE(0x7000 | (sequence >> 6), 6)
  bytes[8] = 0x80 | (sequence & 0x3f)
  return formatUuid(bytes)
}

/** No id made at or after the millisecond is less, and every id made before it is. */
export function idBound(millisecond: number): string {
  const clamped = Math.min(Math.max(Math.trunc(millisecond), 0), 2 ** 48 - 1)
  const hex = clamped.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

/** A UUID of version 8 made from a SHA-256: the same content always has the same id. */
export function contentId(...parts: (string | Uint8Array)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  const bytes = hash.digest().subarray(0, 16)
  bytes[6] = 0x80 | (bytes[6]! & 0x0f)
  bytes[8] = 0x80 | (bytes[8]! & 0x3f)
  return formatUuid(bytes)
}

export function formatUuid(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

export function parseUuid(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}
