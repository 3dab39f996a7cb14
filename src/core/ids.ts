import { createHash, createHmac, randomFillSync } from 'node:crypto'
import { z } from 'zod'
import { makeTimeOrdered, uuidText } from './uuid.ts'

/** A UUID of version 1 to 8, or the nil or max UUID. Converted to lower case. */
export const Uuid = z.string().toLowerCase().pipe(z.uuid('Must be a UUID')).meta({ type: 'string', format: 'uuid' })

/**
 * Returns a UUID of version 7. These IDs sort by creation time, so an index on them also orders rows by creation time.
 * If one process creates several IDs within a millisecond, the IDs also ascend (`makeTimeOrdered`).
 */
export function newId(at: Date): string {
  return formatUuid(makeTimeOrdered(takeRandom(16), at))
}

/** Returns the lower bound of the IDs that are created in or after a millisecond. Earlier IDs sort below it. */
export function idBound(millisecond: number): string {
  const clamped = Math.min(Math.max(Math.trunc(millisecond), 0), 2 ** 48 - 1)
  const hex = clamped.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

/** Returns the creation time of an ID from `newId`. */
export function madeAt(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))
}

/** Returns a UUID of version 8 from the SHA-256 of its content. The same content always has the same ID. */
export function contentId(...parts: (string | Uint8Array)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  const bytes = hash.digest().subarray(0, 16)
  bytes[6] = 0x80 | (bytes[6]! & 0x0f)
  bytes[8] = 0x80 | (bytes[8]! & 0x3f)
  return formatUuid(bytes)
}

export function idsOf(rows: Iterable<{ id: string }>): string[] {
  return Array.from(rows, ({ id }) => id)
}

export function formatUuid(bytes: Uint8Array): string {
  return uuidText(Buffer.from(bytes).toString('hex'))
}

export function parseUuid(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

/** A block of random bytes. One system call fills the block, which is faster than a call for each ID or code. */
const pool = Buffer.alloc(8_192)
let used = pool.length

/**
 * Returns cryptographically random bytes for IDs, codes, and secrets. Takes the bytes from the block, and erases them
 * there, so that the block never contains a secret in use.
 * @param size at most 8,192
 */
export function takeRandom(size: number): Buffer {
  if (used + size > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const taken = Buffer.from(pool.subarray(used, used + size))
  pool.fill(0, used, used + size)
  used += size
  return taken
}

/** The length of a `deviceDigest`, which is enough to distinguish the devices of a pass. */
const DIGEST_CHARACTERS = 12

/**
 * Returns the form in which the API shows a device ID: a digest that differs in each workspace. The API never shows the
 * ID itself, because anyone who knows the ID of a phone can list the passes of the phone.
 */
export function deviceDigest(workspaceId: string, deviceId: string): string {
  return createHmac('sha256', workspaceId).update(deviceId).digest('hex').slice(0, DIGEST_CHARACTERS)
}
