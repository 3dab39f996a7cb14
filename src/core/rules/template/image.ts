import { inspectJpeg, inspectPng, type Unfit } from './image-structure.ts'

export type ImageType = 'image/png' | 'image/jpeg'

/** No wallet shows more. */
export const MAX_PIXELS = 16_000_000
/** Lines of millions of pixels, and millions of lines, cost far more than the same pixels in a square. */
const MAX_SIDE = 16_384

/** What the structure of a file says of its picture, before anything is decoded; sizes in pixels, as stored. */
export interface ImageFacts {
  contentType: ImageType
  width: number
  height: number
  isAnimated: boolean
}

/** An image that can never be shown: the message says why, in words that fit behind "The image". */
export class ImageFault extends Error {
  override readonly name = 'ImageFault'
}

/** The type that the first bytes of a file say, whatever its sender called it. */
function imageTypeOf(bytes: Uint8Array): ImageType | undefined {
  const starts = (...signature: number[]) => signature.every((byte, index) => bytes[index] === byte)
  if (starts(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return 'image/png'
  return starts(0xff, 0xd8, 0xff) ? 'image/jpeg' : undefined
}

/**
 * Walks the parts of a PNG or JPEG file without decoding any, in one pass over its bytes: what a picture would cost to
 * decode does not follow from its size. A file that passes may still turn out to be broken when it is decoded.
 */
export function inspectImage(bytes: Uint8Array): ImageFacts | Unfit {
  const contentType = imageTypeOf(bytes)
  if (!contentType) return { fault: 'is neither PNG nor JPEG' }
  const found = contentType === 'image/png' ? inspectPng(bytes) : inspectJpeg(bytes)
  if ('fault' in found) return found
  if (found.width * found.height > MAX_PIXELS) {
    return { fault: `has ${found.width} x ${found.height} pixels, and ${MAX_PIXELS / 1_000_000} million are allowed` }
  }
  if (Math.max(found.width, found.height) > MAX_SIDE) return { fault: `is longer than ${MAX_SIDE} pixels on one side` }
  return { contentType, ...found }
}
