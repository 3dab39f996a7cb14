import type { ImageType } from '../../core/contract/templates/images.ts'
import { pngChunk } from '../../files/plain-png.ts'

/** The size of the signature of a PNG and of its first chunk, IHDR. */
const PNG_HEADER_BYTES = 33
/** The size of the first marker of a JPEG. */
const JPEG_START_BYTES = 2

/**
 * Adds EXIF with only the orientation to an image without EXIF, so that programs show it upright.
 * @param orientation 1 to 8, as in EXIF. 1 is upright.
 */
export function withOrientation(contentType: ImageType, image: Buffer, orientation = 1): Buffer {
  if (orientation === 1) return image
  // A TIFF header, and a directory with one entry: tag 0x0112, one 16-bit number.
  const exif = Buffer.from('4d4d002a00000008000101120003000000010000000000000000', 'hex')
  exif.writeUInt16BE(orientation, 18)
  const isPng = contentType === 'image/png'
  const at = isPng ? PNG_HEADER_BYTES : JPEG_START_BYTES
  return Buffer.concat([image.subarray(0, at), isPng ? pngChunk('eXIf', exif) : exifSegment(exif), image.subarray(at)])
}

function exifSegment(exif: Buffer): Buffer {
  const name = Buffer.from('Exif\0\0')
  const length = Buffer.alloc(2)
  length.writeUInt16BE(length.length + name.length + exif.length)
  return Buffer.concat([Buffer.from([0xff, 0xe1]), length, name, exif])
}
