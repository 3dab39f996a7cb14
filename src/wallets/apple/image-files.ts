import { crc32, deflateSync } from 'node:zlib'
import type { ImageRole } from '../../core/contract/definition.ts'
import { ApiError } from '../../core/errors.ts'
import { ImageFault } from '../../core/rules/template/image.ts'
import type { ImageSize, LoadImageFiles } from '../wallet.ts'
import { type AppleImageRole, appleImageRoles, sizesOf } from './image-sizes.ts'
import { type PackageFile, packageFile } from './package-file.ts'

/** The images of a card that Apple's passes show, and the colour of the plain icon where there is none. */
export interface CardImages {
  images: Partial<Record<ImageRole, string>>
  /** As `#rrggbb`. */
  background: string
}

/**
 * The image files of a package, in PNG: only the scales that the source can fill, and of an icon all. There is always an
 * icon, since phones refuse a pass without one.
 * @throws Problem PASS_ISSUING_FAILED where an image can never be decoded; whatever else loadImageFiles throws.
 */
export async function buildImageFiles(
  { images, background }: CardImages,
  loadImageFiles: LoadImageFiles,
): Promise<PackageFile[]> {
  const files = await Promise.all(
    appleImageRoles.map(async (role) => {
      const id = images[role]
      if (id === undefined) return role === 'icon' ? plainIcon(background) : []
      const made = await loadImageFiles(id, sizesOf(role)).catch((error: unknown) => {
        throw error instanceof ImageFault ? undecodable(id, role, error) : error
      })
      return made.map(({ scale, bytes }) => packageFile(fileName(role, scale), Buffer.from(bytes)))
    }),
  )
  return files.flat()
}

function undecodable(id: string, role: AppleImageRole, cause: ImageFault): ApiError {
  return new ApiError('PASS_ISSUING_FAILED', {
    message:
      `The image ${id} (${role}) cannot be read as PNG or JPEG: it ${cause.message}. Upload it again and publish with ` +
      'the new one.',
    details: { imageId: id, role },
    cause,
  })
}

function plainIcon(background: string): PackageFile[] {
  return sizesOf('icon').map(({ width, height, scale }) =>
    packageFile(fileName('icon', scale), plainPng(width * scale, height * scale, background)),
  )
}

function fileName(role: AppleImageRole, scale: ImageSize['scale']): string {
  return scale === 1 ? `${role}.png` : `${role}@${scale}x.png`
}

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** A PNG of one colour: a palette of one entry, and one bit a pixel that is always 0. */
export function plainPng(width: number, height: number, color: string): Buffer {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0])
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // A line is the number of its filter and then its bits.
  const lines = Buffer.alloc((1 + Math.ceil(width / 8)) * height)
  return Buffer.concat([
    PNG_SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(color.slice(1), 'hex')),
    chunk('IDAT', deflateSync(lines)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(kind: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const body = Buffer.concat([Buffer.from(kind), data])
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, checksum])
}
