import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** A file of a pass package, with the digests that the manifest and the zip want. */
export interface PackageFile {
  name: string
  bytes: Buffer
  crc32: number
  /** SHA-1 in lower-case hex: the manifest's digest. */
  sha1Hex: string
}

export function packageFile(name: string, bytes: Buffer): PackageFile {
  return { name, bytes, crc32: crc32(bytes), sha1Hex: createHash('sha1').update(bytes).digest('hex') }
}
