import type { ImageType } from '../../contract/templates/images.ts'

/** The maximum number of pixels, more than any wallet shows. */
export const MAX_PIXELS = 16_000_000
/**
 * The maximum width and height in pixels. An image that is millions of pixels wide takes far more work than a square
 * image with the same number of pixels.
 */
const MAX_SIDE = 16_384

/** The facts of an image file that are known without decoding it. Sizes are in pixels, before any rotation. */
export interface ImageFacts {
  contentType: ImageType
  width: number
  height: number
  /**
   * The parts of the file that determine the pixels and their colors. The rest is metadata, which can be personal, such
   * as the place of a photo, and bytes after the end of the image, which decoders ignore.
   */
  parts: Uint8Array[]
}

/** An image that can never be shown. The message is the reason, as a phrase that completes "The image". */
export class ImageFault extends Error {
  override readonly name = 'ImageFault'
}

/** Returns the type of a file by its bytes, regardless of the type that the client declares. */
export function imageTypeOf(bytes: Uint8Array): ImageType | undefined {
  const starts = (...signature: number[]) => signature.every((byte, index) => bytes[index] === byte)
  if (starts(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return 'image/png'
  return starts(0xff, 0xd8, 0xff) ? 'image/jpeg' : undefined
}

/**
 * Reads the structure of a PNG or JPEG file in one pass. Does not decode pixels, because even a small file can be
 * costly to decode. A file without a fault can still fail to decode.
 */
export function inspectImage(bytes: Uint8Array): ImageFacts | Unfit {
  const contentType = imageTypeOf(bytes)
  if (!contentType) return { fault: 'is neither PNG nor JPEG' }
  const found = contentType === 'image/png' ? inspectPng(bytes) : inspectJpeg(bytes)
  if ('fault' in found) return found
  if (found.width * found.height > MAX_PIXELS) {
    return {
      fault: `has ${found.width} x ${found.height} pixels, and at most ${MAX_PIXELS / 1_000_000} million are allowed`,
    }
  }
  if (Math.max(found.width, found.height) > MAX_SIDE) return { fault: `is longer than ${MAX_SIDE} pixels on one side` }
  return { contentType, ...found }
}

/** The reason that an image can never be shown, as a phrase that completes "The image". */
interface Unfit {
  fault: string
}

/** The maximum number of chunks of a PNG. Programs write chunks of at least 4 KB, so the largest file has fewer. */
const MAX_CHUNKS = 5_000
/** The maximum size of profiles, EXIF, and text in a PNG. They can decompress to a thousand times their size. */
const MAX_PNG_METADATA_BYTES = 1024 * 1024

const SIGNATURE_BYTES = 8
/** The size of a chunk without its data: length, type, and checksum. */
const CHUNK_BYTES = 12

/** The optional chunks that determine colors or the shape of pixels. All other optional chunks are metadata. */
const COLOR_CHUNKS = new Set('tRNS gAMA cHRM sRGB iCCP sBIT bKGD hIST sPLT pHYs cICP mDCV cLLI'.split(' '))

const BROKEN_PNG: Unfit = { fault: 'is a broken PNG' }

function inspectPng(bytes: Uint8Array): Omit<ImageFacts, 'contentType'> | Unfit {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let size: { width: number; height: number } | undefined
  let hasPixels = false
  let metadataBytes = 0
  const parts: Uint8Array[] = []
  let partStart = 0
  let at = SIGNATURE_BYTES
  for (let chunks = 0; ; chunks += 1) {
    if (chunks > MAX_CHUNKS) return { fault: `has more than ${MAX_CHUNKS} chunks` }
    if (at + CHUNK_BYTES > bytes.length) return BROKEN_PNG
    const length = view.getUint32(at)
    const kind = String.fromCharCode(...bytes.subarray(at + 4, at + 8))
    if (at + CHUNK_BYTES + length > bytes.length) return BROKEN_PNG
    if ((kind === 'IHDR') !== (chunks === 0)) return BROKEN_PNG
    if (kind === 'IHDR') {
      if (length !== 13) return BROKEN_PNG
      size = { width: view.getUint32(at + 8), height: view.getUint32(at + 12) }
      if (size.width === 0 || size.height === 0) return BROKEN_PNG
    } else if (kind === 'IDAT') hasPixels = true
    else if (kind === 'acTL') return { fault: 'is animated, and passes show still images' }
    else if (isAncillary(bytes[at + 4]!)) metadataBytes += length
    if (metadataBytes > MAX_PNG_METADATA_BYTES) return tooMuchMetadata(MAX_PNG_METADATA_BYTES)
    const start = at
    at += CHUNK_BYTES + length
    if (isAncillary(bytes[start + 4]!) && !COLOR_CHUNKS.has(kind)) {
      parts.push(bytes.subarray(partStart, start))
      partStart = at
    }
    if (kind === 'IEND') break
  }
  parts.push(bytes.subarray(partStart, at))
  return size && hasPixels ? { ...size, parts } : BROKEN_PNG
}

/** Whether decoders can ignore a chunk: the first letter of its type is lower case. */
function isAncillary(firstLetter: number): boolean {
  return (firstLetter & 0x20) !== 0
}

/**
 * The maximum number of scans in a JPEG. Even a scan of 12 bytes makes a decoder process all pixels of a progressive
 * image. Programs usually write 10 scans, and at most 18 (four colors, each in steps).
 */
const MAX_SCANS = 32
/** The maximum size of profiles, EXIF, and text in a JPEG, because decoders copy and parse them. */
const MAX_JPEG_METADATA_BYTES = 2 * 1024 * 1024
const MAX_SEGMENTS = 1_000

/** Markers of ITU-T T.81, table B.1. */
const marker = { startOfScan: 0xda, endOfImage: 0xd9, comment: 0xfe, temporary: 0x01 }

/**
 * The application segments that determine colors or the shape of pixels, by marker, with the text at their start. All
 * other application segments are metadata.
 */
const COLOR_SEGMENTS = new Map([
  [0xe0, 'JFIF\0'],
  [0xe2, 'ICC_PROFILE\0'],
  [0xee, 'Adobe'],
])

/** The frame types that every phone shows: baseline, extended sequential with Huffman coding, and progressive. */
const FRAMES = new Set([0xc0, 0xc1, 0xc2])

const LOSSLESS = 'is a lossless JPEG, which phones do not show'
const HIERARCHICAL = 'is a hierarchical JPEG, which phones do not show'
const ARITHMETIC = 'is a JPEG with arithmetic coding, which phones do not show'

const rejectedChunks = new Map([
  [0xc3, LOSSLESS],
  ...[0xc5, 0xc6, 0xc7, 0xcd, 0xce, 0xcf, 0xde].map((code) => [code, HIERARCHICAL] as const),
  ...[0xc9, 0xca, 0xcb, 0xcc].map((code) => [code, ARITHMETIC] as const),
])

const BROKEN_JPEG: Unfit = { fault: 'is a broken JPEG' }

function inspectJpeg(bytes: Uint8Array): Omit<ImageFacts, 'contentType'> | Unfit {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let size: { width: number; height: number } | undefined
  let scans = 0
  let metadataBytes = 0
  const parts: Uint8Array[] = []
  let partStart = 0
  let at = 2
  for (let segments = 0; ; segments += 1) {
    if (segments > MAX_SEGMENTS) return { fault: `has more than ${MAX_SEGMENTS} segments` }
    const start = at
    if (bytes[at] !== 0xff) return BROKEN_JPEG
    while (bytes[at] === 0xff) at += 1
    const code = bytes[at]
    if (code === undefined) return BROKEN_JPEG
    at += 1
    if (code === marker.endOfImage) break
    if (code === marker.temporary || isRestart(code)) continue
    const reason = rejectedChunks.get(code)
    if (reason) return { fault: reason }
    if (at + 2 > bytes.length) return BROKEN_JPEG
    const length = view.getUint16(at)
    const end = at + length
    if (length < 2 || end > bytes.length) return BROKEN_JPEG
    if (FRAMES.has(code)) {
      if (length < 8) return BROKEN_JPEG
      if (size) return { fault: 'has more than one frame' }
      if (view.getUint8(at + 2) !== 8) return { fault: 'has more than 8 bits per color, which phones do not show' }
      size = { height: view.getUint16(at + 3), width: view.getUint16(at + 5) }
      if (size.width === 0 || size.height === 0) return BROKEN_JPEG
    }
    if (code === marker.comment || (code >= 0xe0 && code <= 0xef)) {
      metadataBytes += length
      const name = COLOR_SEGMENTS.get(code)
      if (name === undefined || !startsWith(bytes.subarray(at + 2, end), name)) {
        parts.push(bytes.subarray(partStart, start))
        partStart = end
      }
    }
    if (metadataBytes > MAX_JPEG_METADATA_BYTES) return tooMuchMetadata(MAX_JPEG_METADATA_BYTES)
    at = end
    if (code === marker.startOfScan) {
      if (!size) return BROKEN_JPEG
      scans += 1
      if (scans > MAX_SCANS) {
        return {
          fault: `is a progressive JPEG with more than ${MAX_SCANS} scans: save it with fewer, or as a baseline JPEG`,
        }
      }
      at = endOfScan(bytes, at)
    }
  }
  parts.push(bytes.subarray(partStart, at))
  return size && scans > 0 ? { ...size, parts } : BROKEN_JPEG
}

function startsWith(bytes: Uint8Array, text: string): boolean {
  return String.fromCharCode(...bytes.subarray(0, text.length)) === text
}

function tooMuchMetadata(maxBytes: number): Unfit {
  const size = `${maxBytes / 1024 / 1024} MiB`
  return { fault: `has more than ${size} of metadata (profiles, EXIF, text): save the image without metadata` }
}

/**
 * Returns the offset of the marker that ends a JPEG scan, or the length of the file if there is none. Inside a scan,
 * only 0, a restart code, or another 0xff can follow 0xff.
 */
function endOfScan(bytes: Uint8Array, start: number): number {
  for (let at = start; at < bytes.length; at += 1) {
    if (bytes[at] !== 0xff) continue
    const next = bytes[at + 1]
    if (next !== undefined && next !== 0 && next !== 0xff && !isRestart(next)) return at
  }
  return bytes.length
}

function isRestart(code: number): boolean {
  return code >= 0xd0 && code <= 0xd7
}
