import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { ZipEntry } from './zip.ts'

/** A file of a pass package, with the digests that the manifest and the zip want. */
export interface PackageFile extends ZipEntry {
  /** SHA-1 in lower-case hex: the manifest's digest. */
  sha1Hex: string
}

export function packageFile(name: string, bytes: Buffer): PackageFile {
  return { ...zipEntry(name, bytes), sha1Hex: hash('sha1', bytes) }
}

/** A file that the manifest does not name. */
export function zipEntry(name: string, bytes: Buffer): ZipEntry {
  return { name, bytes, crc32: crc32(bytes) }
}
