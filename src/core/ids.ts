import { createHash } from 'node:crypto'
import { z } from 'zod'
import { takeRandom } from './random.ts'
import { makeTimeOrdered, uuidText } from './uuid.ts'

/** An identifier as the interface takes and shows it: any UUID of versions 1 to 8, nil or max; lower case. */
export const Uuid = z.string().toLowerCase().pipe(z.uuid('Must be a UUID')).meta({ type: 'string', format: 'uuid' })

/**
 * A UUID of version 7: its order is the order of creation, so an index on it is also an index on the creation time.
 * Ids made in one process for one millisecond still ascend.
 */
export function newId(at: Date): string {
  return formatUuid(makeTimeOrdered(takeRandom(16), at))
}

/** No id made at or after the millisecond is less, and every id made before it is. */
export function idBound(millisecond: number): string {
  const clamped = Math.min(Math.max(Math.trunc(millisecond), 0), 2 ** 48 - 1)
  const hex = clamped.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

/** The moment in which an id was made by newId. */
export function madeAt(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))
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
  return uuidText(Buffer.from(bytes).toString('hex'))
}

/** The 16 bytes of a UUID. */
export function parseUuid(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}
