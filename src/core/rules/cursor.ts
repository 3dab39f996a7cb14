import { createHash } from 'node:crypto'
import { z } from 'zod'

/**
 * Where a walk of a list goes on. It belongs to the list, sort and filters that it was made under, and carries the
 * total of the first page so that a walk counts once. Opaque to callers.
 */
export interface Cursor {
  total: number
  /** Rows before the next page. */
  offset: number
  id: string
  /** The sort key of the last row. */
  key: string | number | KeyDigest
}

/** Stands for a key that is too long to carry: it is read again from its row, which may have changed since. */
export interface KeyDigest {
  digest: string
}

const MAX_KEY_BYTES = 200

const Encoded = z.tuple([
  z.string(),
  z.int().min(0),
  z.int().min(0),
  z.string(),
  z.union([z.string(), z.number(), z.strictObject({ digest: z.string() })]),
])

/** Whatever identifies the walk: list, sort, direction, filters. Arrays must come in a settled order. */
export function fingerprint(walk: unknown): string {
  return shortDigest(JSON.stringify(walk))
}

export function encodeCursor({ total, offset, id, key }: Cursor, walk: string): string {
  const carried =
    typeof key === 'string' && Buffer.byteLength(JSON.stringify(key)) > MAX_KEY_BYTES ? digestOf(key) : key
  return Buffer.from(JSON.stringify([walk, total, offset, id, carried])).toString('base64url')
}

export function digestOf(key: string): KeyDigest {
  return { digest: shortDigest(key) }
}

/** The cursor, or what is wrong with it. */
export function decodeCursor(text: string, walk: string): Cursor | 'malformed' | 'foreign' {
  let json: unknown
  try {
    json = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    return 'malformed'
  }
  const parsed = Encoded.safeParse(json)
  if (!parsed.success || !z.uuid().safeParse(parsed.data[3]).success) return 'malformed'
  const [madeFor, total, offset, id, key] = parsed.data
  return madeFor === walk ? { total, offset, id, key } : 'foreign'
}

function shortDigest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 12)
}
