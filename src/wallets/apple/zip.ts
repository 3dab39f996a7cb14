import { deflateRawSync } from 'node:zlib'

export interface ZipEntry {
  name: string
  bytes: Uint8Array
  /** CRC-32 of the bytes, as zlib.crc32 gives it. */
  crc32: number
}

/** Entries as they stand at the start of an archive, and what its directory says of them: made once, and copied. */
export interface ZipPart {
  entries: Buffer
  directory: Buffer
  count: number
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
const DEFLATED = 8
/** The first day a zip can name: equal passes give equal archives, and no phone looks at it. */
const DATE_1980_01_01 = 0x0021
const MAX_ENTRIES = 0xffff
const MAX_BYTES = 0xffffffff

/** Deflating takes about as long whatever the size, and of a short text it saves less than a packet on the wire. */
const DEFLATED_FROM = 4_096

const NOTHING: ZipPart = { entries: Buffer.alloc(0), directory: Buffer.alloc(0), count: 0 }

/** An entry with its bytes as they stand in the archive. */
interface Packed extends ZipEntry {
  nameBytes: Buffer
  method: typeof STORED | typeof DEFLATED
  packed: Uint8Array
}

/**
 * A zip of the entries, behind a part that was made before. Long texts are deflated; images are compressed already, so
 * deflating them again would cost time and gain nothing.
 * @throws RangeError where the archive would need the 64-bit format.
 */
export function zip(entries: readonly ZipEntry[], before: ZipPart = NOTHING): Buffer {
  const packed = entries.map(pack)
  const sizeOf = (header: number) => packed.reduce((sum, { nameBytes }) => sum + header + nameBytes.length, 0)
  const contentSize = packed.reduce((sum, entry) => sum + entry.packed.length, 0)
  const directoryStart = before.entries.length + sizeOf(LOCAL_HEADER) + contentSize
  const directorySize = before.directory.length + sizeOf(CENTRAL_HEADER)
  const size = directoryStart + directorySize + END_RECORD
  const count = before.count + entries.length
  if (count > MAX_ENTRIES || size > MAX_BYTES) throw new RangeError(`A zip cannot hold ${size} bytes.`)

  const archive = Buffer.allocUnsafe(size)
  let local = before.entries.copy(archive)
  let central = directoryStart + before.directory.copy(archive, directoryStart)
  for (const entry of packed) {
    const { nameBytes } = entry
    const start = local
    archive.writeUInt32LE(0x04034b50, local)
    writeCommon(archive, local + 4, entry)
    nameBytes.copy(archive, local + LOCAL_HEADER)
    archive.set(entry.packed, local + LOCAL_HEADER + nameBytes.length)
    local += LOCAL_HEADER + nameBytes.length + entry.packed.length

    archive.writeUInt32LE(0x02014b50, central)
    archive.writeUInt16LE(MADE_ON_UNIX | VERSION, central + 4)
    writeCommon(archive, central + 6, entry)
    archive.fill(0, central + 32, central + 38) // no comment, disk 0, no inner attributes
    archive.writeUInt32LE(READABLE_FILE, central + 38)
    archive.writeUInt32LE(start, central + 42)
    nameBytes.copy(archive, central + CENTRAL_HEADER)
    central += CENTRAL_HEADER + nameBytes.length
  }

  archive.writeUInt32LE(0x06054b50, central)
  archive.writeUInt32LE(0, central + 4) // one disk
  archive.writeUInt16LE(count, central + 8)
  archive.writeUInt16LE(count, central + 10)
  archive.writeUInt32LE(directorySize, central + 12)
  archive.writeUInt32LE(directoryStart, central + 16)
  archive.writeUInt16LE(0, central + 20) // no comment
  return archive
}

/** What archives that begin with these entries have in common. */
export function zipPart(entries: readonly ZipEntry[]): ZipPart {
  const archive = zip(entries)
  const end = archive.length - END_RECORD
  const directoryStart = archive.readUInt32LE(end + 16)
  return {
    entries: archive.subarray(0, directoryStart),
    directory: archive.subarray(directoryStart, end),
    count: entries.length,
  }
}

function pack(entry: ZipEntry): Packed {
  const nameBytes = Buffer.from(entry.name)
  const deflated = isText(entry) ? deflateRawSync(entry.bytes, { level: 1 }) : entry.bytes
  return deflated.length < entry.bytes.length
    ? { ...entry, nameBytes, method: DEFLATED, packed: deflated }
    : { ...entry, nameBytes, method: STORED, packed: entry.bytes }
}

function isText({ name, bytes }: ZipEntry): boolean {
  return bytes.length >= DEFLATED_FROM && name.endsWith('.json')
}

/** The 26 bytes that a local header and its entry in the directory share. */
function writeCommon(archive: Buffer, position: number, { bytes, packed, method, crc32, nameBytes }: Packed): void {
  archive.writeUInt16LE(VERSION, position)
  archive.writeUInt16LE(UTF8_NAMES, position + 2)
  archive.writeUInt16LE(method, position + 4)
  archive.writeUInt16LE(0, position + 6) // midnight
  archive.writeUInt16LE(DATE_1980_01_01, position + 8)
  archive.writeUInt32LE(crc32, position + 10)
  archive.writeUInt32LE(packed.length, position + 14)
  archive.writeUInt32LE(bytes.length, position + 18)
  archive.writeUInt16LE(nameBytes.length, position + 22)
  archive.writeUInt16LE(0, position + 24) // no extra field
}
