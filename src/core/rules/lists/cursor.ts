import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { formatUuid, parseUuid } from '../../ids.ts'

/**
 * The cursor of a list page. It stores the sort key and ID of the last row of the previous page, so that it stays valid
 * if that row is deleted. It is valid for one list, sort, and filter. It contains the total, so that only the first
 * page counts the rows. Encoded as base64url, with these bytes:
 * - 0 to 8: the fingerprint of list, sort, and filters
 * - 9 to 15: the total
 * - 16 to 22: the number of rows before the next page
 * - 23 to 38: the ID
 * - from 39: the key, as text in UTF-8 or as a number of 8 bytes
 */
export interface Cursor {
  total: number
  offset: number
  id: string
  /** The sort key of the last row, or `null` if the ID or the offset alone is the position. */
  key: string | number | null
}

export type KeyType = 'text' | 'integer' | 'none'

const FINGERPRINT_BYTES = 9
const HEAD_BYTES = 39
const NUMBER_BYTES = 8

/**
 * The maximum size of a key in a cursor, in bytes. With such a key, a sealed cursor has at most 504 characters. The API
 * accepts 512 characters.
 */
export const MAX_KEY_BYTES = 320

/** The number of characters that always fit into a cursor, because a character has at most 4 bytes in UTF-8. */
export const MAX_KEY_CHARACTERS = MAX_KEY_BYTES / 4

/** Returns the sort key of a text: the whole text if it fits into a cursor, else its first MAX_KEY_CHARACTERS. */
export function beginningOf(text: string): string {
  if (Buffer.byteLength(text) <= MAX_KEY_BYTES) return text
  return [...text].slice(0, MAX_KEY_CHARACTERS).join('')
}

/**
 * Returns the fingerprint of a list's name, sort, direction, and filters. Callers must sort filters and their values,
 * because the order changes the fingerprint.
 */
export function fingerprint(list: unknown): Buffer {
  return createHash('sha256').update(JSON.stringify(list)).digest().subarray(0, FINGERPRINT_BYTES)
}

/** Truncates a key that is too long (see `isCut`). */
export function encodeCursor({ total, offset, id, key }: Cursor, listKey: Buffer): string {
  const head = Buffer.alloc(HEAD_BYTES)
  listKey.copy(head)
  writeCount(head, total, 9)
  writeCount(head, offset, 16)
  parseUuid(id).copy(head, 23)
  return Buffer.concat([head, keyBytes(key)]).toString('base64url')
}

/** Returns `undefined` if the cursor is invalid or is for another list, sort, or filter. */
export function decodeCursor(text: string, listKey: Buffer, type: KeyType): Cursor | undefined {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length < HEAD_BYTES || !bytes.subarray(0, FINGERPRINT_BYTES).equals(listKey)) return undefined
  const total = readCount(bytes, 9)
  const offset = readCount(bytes, 16)
  const key = readKey(bytes.subarray(HEAD_BYTES), type)
  if (!Number.isSafeInteger(total) || !Number.isSafeInteger(offset) || key === undefined) return undefined
  return { total, offset, id: formatUuid(bytes.subarray(23, HEAD_BYTES)), key }
}

/** Whether a key might have been truncated. */
export function isCut(key: Cursor['key']): key is string {
  return typeof key === 'string' && Buffer.byteLength(key) > MAX_KEY_BYTES - 4
}

const TAG_BYTES = 18
const TAG_LENGTH = 24

/**
 * Seals a cursor for one scope, such as a workspace and a list, so that clients cannot forge it. Adds 24 characters.
 */
export function sealCursor(cursor: string, scope: readonly string[], key: Uint8Array): string {
  return tagOf(cursor, scope, key).toString('base64url') + cursor
}

/**
 * Returns the cursor without its seal, or `undefined` if the seal is invalid or for another scope.
 * @param keys the accepted subkeys for cursors: the current one first, then previous ones
 */
export function unsealCursor(
  sealed: string,
  scope: readonly string[],
  keys: readonly Uint8Array[],
): string | undefined {
  const tag = Buffer.from(sealed.slice(0, TAG_LENGTH), 'base64url')
  const cursor = sealed.slice(TAG_LENGTH)
  if (tag.length !== TAG_BYTES) return undefined
  return keys.some((key) => timingSafeEqual(tag, tagOf(cursor, scope, key))) ? cursor : undefined
}

function tagOf(cursor: string, scope: readonly string[], key: Uint8Array): Buffer {
  return createHmac('sha256', key)
    .update(JSON.stringify([...scope, cursor]))
    .digest()
    .subarray(0, TAG_BYTES)
}

function keyBytes(key: Cursor['key']): Buffer {
  if (typeof key === 'string') return cut(key)
  const bytes = Buffer.alloc(key === null ? 0 : NUMBER_BYTES)
  if (key !== null) bytes.writeDoubleBE(key)
  return bytes
}

/** Returns the longest beginning of a key that fits into a cursor and does not end within a character. */
function cut(key: string): Buffer {
  const bytes = Buffer.from(key)
  if (bytes.length <= MAX_KEY_BYTES) return bytes
  let end = MAX_KEY_BYTES
  while ((bytes[end]! & 0b1100_0000) === 0b1000_0000) end -= 1
  return bytes.subarray(0, end)
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function readKey(bytes: Buffer, type: KeyType): Cursor['key'] | undefined {
  if (type === 'none') return bytes.length === 0 ? null : undefined
  if (type === 'integer') {
    const key = bytes.length === NUMBER_BYTES ? bytes.readDoubleBE() : Number.NaN
    return Number.isSafeInteger(key) ? key : undefined
  }
  try {
    const key = utf8.decode(bytes)
    return key.includes('\0') ? undefined : key
  } catch {
    return undefined
  }
}

/** Writes a count as seven bytes, which can hold any safe integer. `writeUIntBE` writes at most six. */
function writeCount(bytes: Buffer, count: number, at: number): void {
  bytes.writeUInt8(Math.floor(count / 2 ** 48), at)
  bytes.writeUIntBE(count % 2 ** 48, at + 1, 6)
}

function readCount(bytes: Buffer, at: number): number {
  return bytes.readUInt8(at) * 2 ** 48 + bytes.readUIntBE(at + 1, 6)
}
