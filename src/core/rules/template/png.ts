import type { Unfit } from './image.ts'

/** A chunk of 4 KB is the least that programs write: as many as hold the largest file, with room to spare. */
const MAX_CHUNKS = 5_000
/** Profiles, EXIF and text: what is compressed in there unfolds to a thousand times its size. */
const MAX_METADATA_BYTES = 1024 * 1024

const SIGNATURE_BYTES = 8
/** Length, type and checksum of a chunk. */
const CHUNK_BYTES = 12

const BROKEN: Unfit = { fault: 'is a broken PNG' }

export function inspectPng(bytes: Uint8Array): { width: number; height: number; isAnimated: boolean } | Unfit {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let size: { width: number; height: number } | undefined
  let hasPixels = false
  let isAnimated = false
  let metadataBytes = 0
  let at = SIGNATURE_BYTES
  for (let chunks = 0; ; chunks += 1) {
    if (chunks > MAX_CHUNKS) return { fault: `has more than ${MAX_CHUNKS} chunks` }
    if (at + CHUNK_BYTES > bytes.length) return BROKEN
    const length = view.getUint32(at)
    const kind = String.fromCharCode(...bytes.subarray(at + 4, at + 8))
    if (at + CHUNK_BYTES + length > bytes.length) return BROKEN
    if ((kind === 'IHDR') !== (chunks === 0)) return BROKEN
    if (kind === 'IHDR') {
      if (length !== 13) return BROKEN
      size = { width: view.getUint32(at + 8), height: view.getUint32(at + 12) }
      if (size.width === 0 || size.height === 0) return BROKEN
    } else if (kind === 'IDAT') hasPixels = true
    else if (kind === 'acTL') isAnimated = true
    else if (kind !== 'fdAT' && isAncillary(bytes[at + 4]!)) metadataBytes += length
    if (metadataBytes > MAX_METADATA_BYTES) {
      return { fault: 'has more than 1 MiB of metadata (profiles, EXIF, text); save it without' }
    }
    at += CHUNK_BYTES + length
    if (kind === 'IEND') break
  }
  return size && hasPixels ? { ...size, isAnimated } : BROKEN
}

/** The case of its first letter says whether a picture can be shown without a chunk. */
function isAncillary(firstLetter: number): boolean {
  return (firstLetter & 0x20) !== 0
}
