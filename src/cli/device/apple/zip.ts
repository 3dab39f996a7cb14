import { crc32, inflateRawSync } from 'node:zlib'

/** An archive that a phone cannot read, and why. */
export class ZipError extends Error {
  override readonly name = 'ZipError'
}

const LOCAL_FILE = 0x04034b50
const DIRECTORY_ENTRY = 0x02014b50
const DIRECTORY_END = 0x06054b50
const END_RECORD_BYTES = 22
const LONGEST_COMMENT = 0xffff
const STORED = 0
const DEFLATED = 8
/** A pass unpacked; phones refuse far smaller ones. */
const MAX_FILE_BYTES = 16 * 1024 * 1024

/**
 * The files of a zip by name, read through its directory as phones do, each checked against its CRC.
 * @throws ZipError
 */
export function unzip(archive: Buffer): Map<string, Buffer> {
  try {
    return readEntries(archive)
  } catch (error) {
    if (error instanceof RangeError) throw new ZipError('the archive is cut off', { cause: error })
    throw error
  }
}

function readEntries(archive: Buffer): Map<string, Buffer> {
  const end = findEnd(archive)
  const files = new Map<string, Buffer>()
  let position = archive.readUInt32LE(end + 16)
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    if (archive.readUInt32LE(position) !== DIRECTORY_ENTRY) throw new ZipError('the directory of the archive is broken')
    const nameEnd = position + 46 + archive.readUInt16LE(position + 28)
    const name = archive.toString('utf8', position + 46, nameEnd)
    if (files.has(name)) throw new ZipError(`the archive holds ${name} twice`)
    files.set(name, readFile(archive, position, name))
    position = nameEnd + archive.readUInt16LE(position + 30) + archive.readUInt16LE(position + 32)
  }
  return files
}

function readFile(archive: Buffer, entry: number, name: string): Buffer {
  const method = archive.readUInt16LE(entry + 10)
  const crc = archive.readUInt32LE(entry + 16)
  const size = archive.readUInt32LE(entry + 20)
  const local = archive.readUInt32LE(entry + 42)
  if (archive.readUInt32LE(local) !== LOCAL_FILE) throw new ZipError(`${name} is not where the directory says`)
  const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28)
  if (start + size > archive.length) throw new ZipError(`${name} is cut off`)
  const bytes = unpack(archive.subarray(start, start + size), method, name)
  if (crc32(bytes) !== crc) throw new ZipError(`${name} is damaged`)
  return bytes
}

function unpack(bytes: Buffer, method: number, name: string): Buffer {
  if (method === STORED) return bytes
  if (method !== DEFLATED) throw new ZipError(`${name} is packed in a way that phones do not know`)
  try {
    return inflateRawSync(bytes, { maxOutputLength: MAX_FILE_BYTES })
  } catch (cause) {
    throw new ZipError(`${name} cannot be unpacked`, { cause })
  }
}

function findEnd(archive: Buffer): number {
  const lowest = Math.max(0, archive.length - END_RECORD_BYTES - LONGEST_COMMENT)
  for (let position = archive.length - END_RECORD_BYTES; position >= lowest; position--) {
    if (archive.readUInt32LE(position) === DIRECTORY_END) return position
  }
  throw new ZipError('this is no zip archive')
}
