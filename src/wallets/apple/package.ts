import { hash, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { crc32, deflateRawSync } from 'node:zlib'
import type { AppleIdentity } from './apple-identity.ts'

const signAsync = promisify(sign)

export type Signer = (sha256: Uint8Array, at: Date) => Promise<Buffer>

const id = {
  data: objectIdentifier('1.2.840.113549.1.7.1'),
  signedData: objectIdentifier('1.2.840.113549.1.7.2'),
  contentType: objectIdentifier('1.2.840.113549.1.9.3'),
  messageDigest: objectIdentifier('1.2.840.113549.1.9.4'),
  signingTime: objectIdentifier('1.2.840.113549.1.9.5'),
  rsaEncryption: objectIdentifier('1.2.840.113549.1.1.1'),
  sha256: objectIdentifier('2.16.840.1.101.3.4.2.1'),
}

const none = element(0x05)
const version1 = element(0x02, Buffer.from([1]))
const sha256 = sequence(id.sha256, none)
const rsaEncryption = sequence(id.rsaEncryption, none)
const contentType = sequence(id.contentType, setOf(id.data))

/**
 * Creates detached CMS signatures (RFC 5652) as phones require: SHA-256, a signed signing time, and the leaf and
 * intermediate certificates. Signing takes most of the time of a package. Therefore, bytes that are the same
 * in all signatures of one second are encoded once, and the private key is used on a thread of Node's pool.
 */
export function createSigner(identity: AppleIdentity): Signer {
  const issuer = issuerAndSerial(identity.certificate.der)
  const certificates = element(0xa0, ...sorted([identity.certificate.der, identity.wwdr.der]))
  const beforeSigners = Buffer.concat([version1, setOf(sha256), sequence(id.data), certificates])
  const emptySignature = octetString(Buffer.alloc(identity.key.asymmetricKeyDetails!.modulusLength! / 8))

  function formOf(second: number): SignatureForm {
    const attributes = signedAttributes(Buffer.alloc(SHA256_BYTES), new Date(second * 1000))
    const signer = sequence(version1, issuer, sha256, element(0xa0, ...attributes), rsaEncryption, emptySignature)
    // Encode the attributes twice: they are signed with the tag of a SET, but sent with the tag of an implicit [0] (RFC
    // 5652, 5.4).
    const toSign = element(0x31, ...attributes)
    return { second, toSign, signed: sequence(id.signedData, element(0xa0, sequence(beforeSigners, setOf(signer)))) }
  }

  let form = formOf(0)
  return async (digest, at) => {
    const second = Math.floor(at.getTime() / 1000)
    if (form.second !== second) form = formOf(second)
    const toSign = Buffer.from(form.toSign)
    toSign.set(digest, toSign.length - SHA256_BYTES)
    const signed = Buffer.from(form.signed)
    signed.set(digest, signed.length - emptySignature.length - rsaEncryption.length - SHA256_BYTES)
    const signature = await signAsync('sha256', toSign, identity.key)
    signed.set(signature, signed.length - signature.length)
    return signed
  }
}

const SHA256_BYTES = 32

/**
 * The bytes that are the same in all signatures of one second. The digest (at the end of the attributes) and the
 * signature value are zeros.
 */
interface SignatureForm {
  /** The signing time in seconds since 1970. */
  second: number
  toSign: Buffer
  signed: Buffer
}

/**
 * Returns the issuer and the serial number of a certificate. A certificate starts with its version (optional), serial
 * number, algorithm, and issuer.
 */
function issuerAndSerial(certificate: Uint8Array): Buffer {
  const [toBeSigned] = membersOf(certificate)
  const fields = membersOf(toBeSigned!)
  const [serial, , issuer] = fields[0]![0] === 0xa0 ? fields.slice(1) : fields
  return sequence(issuer!, serial!)
}

function signedAttributes(digest: Uint8Array, at: Date): Buffer[] {
  return sorted([
    contentType,
    sequence(id.signingTime, setOf(time(at))),
    sequence(id.messageDigest, setOf(octetString(digest))),
  ])
}

/**
 * The following functions implement only the part of DER that signatures need. Use them to read only certificates that
 * OpenSSL has accepted.
 */

export function element(tag: number, ...contents: Uint8Array[]): Buffer {
  const length = contents.reduce((sum, part) => sum + part.length, 0)
  return Buffer.concat([header(tag, length), ...contents])
}

export function sequence(...members: Uint8Array[]): Buffer {
  return element(0x30, ...members)
}

/** Returns the members of a SET OF in the order that DER requires: by their encoding. */
function sorted(members: Buffer[]): Buffer[] {
  return members.toSorted(Buffer.compare)
}

export function setOf(...members: Buffer[]): Buffer {
  return element(0x31, ...sorted(members))
}

function octetString(bytes: Uint8Array): Buffer {
  return element(0x04, bytes)
}

export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...arcs] = dotted.split('.').map(Number)
  return element(0x06, Buffer.from([first * 40 + second, ...arcs.flatMap(base128)]))
}

/** Encodes a time without fractions of a second: UTCTime from 1950 to 2049, else GeneralizedTime (RFC 5652, 11.3). */
export function time(at: Date): Buffer {
  const digits = at.toISOString().replaceAll(/\D/g, '').slice(0, 14)
  const year = at.getUTCFullYear()
  return year >= 1950 && year < 2050
    ? element(0x17, Buffer.from(`${digits.slice(2)}Z`))
    : element(0x18, Buffer.from(`${digits}Z`))
}

export function membersOf(constructed: Uint8Array): Buffer[] {
  const bytes = Buffer.from(constructed.buffer, constructed.byteOffset, constructed.length)
  const members: Buffer[] = []
  let position = contentsOf(bytes, 0).start
  while (position < bytes.length) {
    const { end } = contentsOf(bytes, position)
    members.push(bytes.subarray(position, end))
    position = end
  }
  return members
}

function header(tag: number, length: number): Buffer {
  if (length < 0x80) return Buffer.from([tag, length])
  if (length < 0x100) return Buffer.from([tag, 0x81, length])
  if (length < 0x10000) return Buffer.from([tag, 0x82, length >> 8, length & 0xff])
  throw new RangeError('A DER element of 64 KiB or more is not supported.')
}

function base128(arc: number): number[] {
  const bytes = [arc % 128]
  for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift(0x80 | (rest % 128))
  return bytes
}

function contentsOf(bytes: Buffer, position: number): { start: number; end: number } {
  const length = bytes.readUInt8(position + 1)
  if (length < 0x80) return { start: position + 2, end: position + 2 + length }
  const start = position + 2 + (length & 0x7f)
  return { start, end: start + bytes.readUIntBE(position + 2, length & 0x7f) }
}

export interface ZipEntry {
  name: string
  bytes: Uint8Array
  crc32: number
}

export interface ZipPart {
  chunks: Uint8Array[]
  size: number
  /** The central directory of these entries, with offsets as if the archive started with this part. */
  directory: Buffer
  count: number
}

const LOCAL_HEADER = 30
const CENTRAL_HEADER = 46
const END_RECORD = 22
const VERSION = 20
/** Marks entries as regular readable files from Unix, so that unzip restores names with characters outside ASCII. */
const MADE_ON_UNIX = 0x0300
const READABLE_FILE = (0o100644 << 16) >>> 0
const UTF8_NAMES = 0x0800
const STORED = 0
const DEFLATED = 8
/** The date of all entries: the first date that zip can represent. A fixed date gives equal passes equal archives. */
const DATE_1980_01_01 = 0x0021
const MAX_ENTRIES = 0xffff
const MAX_BYTES = 0xffffffff

/**
 * The minimum length of a text that is deflated. Deflating a shorter text would save less than one network packet. That
 * is not worth the time.
 */
const DEFLATED_FROM = 4_096

interface Packed extends ZipEntry {
  nameBytes: Buffer
  method: typeof STORED | typeof DEFLATED
  packed: Uint8Array
}

/** Creates a zip of existing parts, followed by entries. @throws RangeError if the archive needs the 64-bit format */
export function zip(entries: readonly ZipEntry[], before: readonly ZipPart[] = []): Buffer {
  const parts = [...before, zipPart(entries)]
  const sum = (numberOf: (part: ZipPart) => number) => parts.reduce((total, part) => total + numberOf(part), 0)
  const directoryStart = sum((part) => part.size)
  const directorySize = sum((part) => part.directory.length)
  const size = directoryStart + directorySize + END_RECORD
  const count = sum((part) => part.count)
  if (count > MAX_ENTRIES || size > MAX_BYTES) {
    throw new RangeError(`A zip of ${count} entries and ${size} bytes needs the 64-bit format, which is not supported.`)
  }

  const archive = Buffer.allocUnsafe(size)
  let local = 0
  let central = directoryStart
  for (const part of parts) {
    const end = central + part.directory.copy(archive, central)
    // The directory has offsets from the start of the part, so add the position of the part in the archive.
    for (; central < end; central += CENTRAL_HEADER + archive.readUInt16LE(central + 28)) {
      archive.writeUInt32LE(archive.readUInt32LE(central + 42) + local, central + 42)
    }
    for (const chunk of part.chunks) {
      archive.set(chunk, local)
      local += chunk.length
    }
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

/** Encodes entries that several archives share. Only long texts are deflated, because images are already compressed. */
export function zipPart(entries: readonly ZipEntry[]): ZipPart {
  const packed = entries.map(pack)
  const directory = Buffer.allocUnsafe(
    packed.reduce((sum, { nameBytes }) => sum + CENTRAL_HEADER + nameBytes.length, 0),
  )
  const chunks: Uint8Array[] = []
  let size = 0
  let central = 0
  for (const entry of packed) {
    const { nameBytes } = entry
    const local = Buffer.allocUnsafe(LOCAL_HEADER + nameBytes.length)
    local.writeUInt32LE(0x04034b50, 0)
    writeCommon(local, 4, entry)
    nameBytes.copy(local, LOCAL_HEADER)
    chunks.push(local, entry.packed)

    directory.writeUInt32LE(0x02014b50, central)
    directory.writeUInt16LE(MADE_ON_UNIX | VERSION, central + 4)
    writeCommon(directory, central + 6, entry)
    directory.fill(0, central + 32, central + 38) // no comment, disk 0, no inner attributes
    directory.writeUInt32LE(READABLE_FILE, central + 38)
    directory.writeUInt32LE(size, central + 42)
    nameBytes.copy(directory, central + CENTRAL_HEADER)
    size += local.length + entry.packed.length
    central += CENTRAL_HEADER + nameBytes.length
  }
  return { chunks, size, directory, count: entries.length }
}

function pack(entry: ZipEntry): Packed {
  const nameBytes = Buffer.from(entry.name)
  const deflated = isText(entry) ? deflateRawSync(entry.bytes, { level: 1 }) : entry.bytes
  return deflated.length < entry.bytes.length
    ? { ...entry, nameBytes, method: DEFLATED, packed: deflated }
    : { ...entry, nameBytes, method: STORED, packed: entry.bytes }
}

function isText({ name, bytes }: ZipEntry): boolean {
  return bytes.length >= DEFLATED_FROM && /\.(?:json|strings)$/.test(name)
}

/** Writes the 26 bytes that a local header and its directory entry share. */
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

export interface PackageFile extends ZipEntry {
  /** SHA-1 in lower-case hex, for the manifest. */
  sha1Hex: string
}

export function packageFile(name: string, bytes: Uint8Array): PackageFile {
  return { ...zipEntry(name, bytes), sha1Hex: hash('sha1', bytes) }
}

export function zipEntry(name: string, bytes: Uint8Array): ZipEntry {
  return { name, bytes, crc32: crc32(bytes) }
}
