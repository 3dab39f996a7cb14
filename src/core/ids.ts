import { createHash } from 'node:crypto'
import { z } from 'zod'
import { takeRandom } from './random.ts'

/** An identifier as the interface takes and shows it: any UUID of versions 1 to 8, nil or max; lower case. */
export const Uuid = z.string().toLowerCase().pipe(z.uuid('Must be a UUID')).meta({ type: 'string', format: 'uuid' })

let counter = 0

/**
 * A UUID of version 7: its order is the order of creation, so an index on it is also an index on the creation time.
 * Ids made in one process for one millisecond still ascend.
 */
export function newId(at: Date): string {
  // Never set back: ids for several moments are made by turns. Once in 67,108,864 ids it begins anew, and the order within
  // that millisecond is by chance.
  counter = (counter + 1) & 0x3ffffff
  const bytes = takeRandom(16)
  bytes.writeUIntBE(at.getTime(), 0, 6)
  // 12 + 14 bits of counter after the time, each with its mark of version or variant.
  bytes.writeUInt16BE(0x7000 | (counter >> 14), 6)
  bytes.writeUInt16BE(0x8000 | (counter & 0x3fff), 8)
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

/** The text of a UUID's 16 bytes. */
export function formatUuid(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** The 16 bytes of a UUID. */
export function parseUuid(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}
