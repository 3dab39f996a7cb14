import type { z } from 'zod'
import { type ImageType, MAX_IMAGE_BYTES } from '../../core/contract/images.ts'
import { CliError, readNamed } from '../command/errors.ts'

/** An image as it is uploaded. */
export interface ImageFile {
  path: string
  contentType: z.output<typeof ImageType>
  bytes: Uint8Array
}

/**
 * Reads an image, and refuses what the server would.
 * @param role what it is for, as errors name it
 * @throws CliError
 */
export async function readImage(path: string, role?: string): Promise<ImageFile> {
  const bytes = await readNamed(path)
  const what = role === undefined ? path : `${path} (${role})`
  const contentType = imageType(bytes)
  if (!contentType) throw new CliError(`${what} is neither PNG nor JPEG`)
  if (bytes.length > MAX_IMAGE_BYTES) {
    throw new CliError(`${what} has ${bytes.length} bytes; at most ${MAX_IMAGE_BYTES} are taken`)
  }
  return { path, contentType, bytes }
}

/** By the first bytes: what a file is called proves nothing. */
function imageType(bytes: Buffer): ImageFile['contentType'] | undefined {
  if (bytes.subarray(0, 8).equals(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))) return 'image/png'
  return bytes.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff])) ? 'image/jpeg' : undefined
}
