import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { openPrivate } from '../../files/private-file.ts'

/**
 * A backup as a file: a SQLite database and behind it one line with its length and SHA-256, so that the checksum cannot get
 * lost. SQLite knows how many pages a database has and does not look behind them: a backup still opens as it is.
 */
const MARK = '\npasses-backup-1 '
const LINE = /\npasses-backup-1 bytes=(\d+) sha256=([0-9a-f]{64})\n$/
const LONGEST_LINE = 128

/** The first bytes of every SQLite database. */
const MAGIC = Buffer.from('SQLite format 3\0')
const HEADER_BYTES = 100

/** Puts the line behind a database that nobody writes to any more, and all of it on the disk. */
export async function seal(path: string): Promise<void> {
  const { size } = await stat(path)
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  const file = await open(path, 'r+')
  try {
    await file.write(`${MARK}bytes=${size} sha256=${hash.digest('hex')}\n`, size)
    await file.sync()
  } finally {
    await file.close()
  }
}

export type Unsealed =
  /** Why it cannot be restored, in words that fit behind its name. */
  { fault: string } | 'sealed' | 'without checksum'

/**
 * Copies the database out of a backup to a new file that is private from its first byte, and says whether it is what was
 * sealed. A file without a line is copied as it is: one of an older program, or no backup at all.
 */
export async function unseal(path: string, target: string): Promise<Unsealed> {
  const { size } = await stat(path)
  if (size === 0) return { fault: 'is empty: it holds no database of passes' }
  const head = await readAt(path, 0, HEADER_BYTES)
  if (!head.subarray(0, MAGIC.length).equals(MAGIC)) return { fault: 'is no SQLite database, or a damaged one' }
  const tail = (await readAt(path, Math.max(0, size - LONGEST_LINE), LONGEST_LINE)).toString('latin1')
  const line = LINE.exec(tail)
  const expected = line ? Number(line[1]) : lengthOf(head)
  const found = size - (line?.[0].length ?? 0)
  if (found < expected) return { fault: `is damaged: it was cut short, and has ${found} of ${expected} bytes` }
  if (line ? found > expected : tail.includes(MARK)) return { fault: 'is damaged: bytes were added or lost at its end' }
  const digest = await copy(path, target, found)
  if (!line) return 'without checksum'
  return digest === line[2] ? 'sealed' : { fault: 'is damaged: its content is not what its checksum says' }
}

/** Resolves to the SHA-256 of what was copied. */
async function copy(path: string, target: string, bytes: number): Promise<string> {
  const hash = createHash('sha256')
  const file = await openPrivate(target, 'wx')
  try {
    for await (const chunk of createReadStream(path, { end: bytes - 1, highWaterMark: 1024 * 1024 })) {
      hash.update(chunk)
      await file.writeFile(chunk)
    }
  } finally {
    await file.close()
  }
  return hash.digest('hex')
}

/** Bytes of a database by its own header: the size of a page and their number. */
function lengthOf(head: Buffer): number {
  const pageBytes = head.readUInt16BE(16)
  return (pageBytes === 1 ? 65_536 : pageBytes) * head.readUInt32BE(28)
}

async function readAt(path: string, position: number, bytes: number): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, position)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
