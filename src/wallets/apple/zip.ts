export interface ZipEntry {
  name: string
  bytes: Uint8Array
  /** CRC-32 of the bytes, as zlib.crc32 gives it. */
  crc32: number
}

const LOCAL_HEADER = 30
const CENTRAL_HEADER = 46
const END_RECORD = 22
const VERSION = 20
/** Made on Unix, as an ordinary readable file: with it unzip restores names beyond ASCII too. */
const MADE_ON_UNIX = 0x0300
const READABLE_FILE = (0o100644 << 16) >>> 0
const UTF8_NAMES = 0x0800
const STORED = 0
/** The first day a zip can name: equal passes give equal archives, and no phone looks at it. */
const DATE_1980_01_01 = 0x0021
const MAX_ENTRIES = 0xffff
const MAX_BYTES = 0xffffffff

/**
 * A zip of stored entries: images are compressed already, so deflating them again costs time and gains nothing.
 * @throws RangeError where the archive would need the 64-bit format.
 */
export function zip(entries: readonly ZipEntry[]): Buffer {
  const names = entries.map((entry) => Buffer.from(entry.name))
  const directorySize = names.reduce((sum, name) => sum + CENTRAL_HEADER + name.length, 0)
  const directoryStart = entries.reduce(
    (sum, entry, n) => sum + LOCAL_HEADER + names[n]!.length + entry.bytes.length,
    0,
  )
  const size = directoryStart + directorySize + END_RECORD
  if (entries.length > MAX_ENTRIES || size > MAX_BYTES) throw new RangeError(`A zip cannot hold ${size} bytes.`)

  const archive = Buffer.allocUnsafe(size)
  let local = 0
  let central = directoryStart
  entries.forEach((entry, n) => {
    const name = names[n]!
    const start = local
    archive.writeUInt32LE(0x04034b50, local)
    writeCommon(archive, local + 4, entry, name)
    name.copy(archive, local + LOCAL_HEADER)
    archive.set(entry.bytes, local + LOCAL_HEADER + name.length)
    local += LOCAL_HEADER + name.length + entry.bytes.length

    archive.writeUInt32LE(0x02014b50, central)
    archive.writeUInt16LE(MADE_ON_UNIX | VERSION, central + 4)
    writeCommon(archive, central + 6, entry, name)
    archive.fill(0, central + 32, central + 38) // no comment, disk 0, no inner attributes
    archive.writeUInt32LE(READABLE_FILE, central + 38)
    archive.writeUInt32LE(start, central + 42)
    name.copy(archive, central + CENTRAL_HEADER)
    central += CENTRAL_HEADER + name.length
  })

  archive.writeUInt32LE(0x06054b50, central)
  archive.writeUInt32LE(0, central + 4) // one disk
  archive.writeUInt16LE(entries.length, central + 8)
  archive.writeUInt16LE(entries.length, central + 10)
  archive.writeUInt32LE(directorySize, central + 12)
  archive.writeUInt32LE(directoryStart, central + 16)
  archive.writeUInt16LE(0, central + 20) // no comment
  return archive
}

/** The 26 bytes that a local header and its entry in the directory share. */
function writeCommon(archive: Buffer, position: number, { bytes, crc32 }: ZipEntry, name: Buffer): void {
  archive.writeUInt16LE(VERSION, position)
  archive.writeUInt16LE(UTF8_NAMES, position + 2)
  archive.writeUInt16LE(STORED, position + 4)
  archive.writeUInt16LE(0, position + 6) // midnight
  archive.writeUInt16LE(DATE_1980_01_01, position + 8)
  archive.writeUInt32LE(crc32, position + 10)
  archive.writeUInt32LE(bytes.length, position + 14)
  archive.writeUInt32LE(bytes.length, position + 18)
  archive.writeUInt16LE(name.length, position + 22)
  archive.writeUInt16LE(0, position + 24) // no extra field
}
