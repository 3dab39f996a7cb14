import sharp from 'sharp'
import type { ImageRole } from '../../core/contract/definition.ts'
import { Problem } from '../../core/errors.ts'
import type { LoadImage } from '../wallet.ts'
import { type PackageFile, packageFile } from './package-file.ts'

/** The images of a card that Apple's passes show, and the colour of the plain icon where there is none. */
export interface CardImages {
  images: Partial<Record<ImageRole, string>>
  background: string
}

/** Points; a file holds them once, twice and three times as pixels. A hero belongs to the other platform. */
const points = {
  icon: { width: 38, height: 38 },
  logo: { width: 160, height: 50 },
  strip: { width: 375, height: 144 },
  thumbnail: { width: 90, height: 90 },
} satisfies Partial<Record<ImageRole, { width: number; height: number }>>

export type AppleImageRole = keyof typeof points
export const appleImageRoles = Object.keys(points) as AppleImageRole[]

const scales = [1, 2, 3] as const
/** A small file can claim a huge picture; what is decoded is bounded before it is. */
const MAX_PIXELS = 50_000_000

/**
 * The image files of a package, in PNG: never enlarged, and only the scales that the source can fill. There is always
 * an icon, since phones refuse a pass without one.
 * @throws Problem PASS_ISSUING_FAILED where an image cannot be read as PNG or JPEG; whatever loadImage throws.
 */
export async function buildImageFiles(
  { images, background }: CardImages,
  loadImage: LoadImage,
): Promise<PackageFile[]> {
  const files = await Promise.all(
    appleImageRoles.map(async (role) => {
      const id = images[role]
      if (id === undefined) return role === 'icon' ? plainIcon(background) : []
      const bytes = await loadImage(id)
      return scaled(role, bytes).catch((cause: unknown) => {
        throw new Problem('PASS_ISSUING_FAILED', {
          message: `The image ${id} (${role}) cannot be read as PNG or JPEG; upload it again and publish with the new one.`,
          details: { imageId: id, role },
          cause,
        })
      })
    }),
  )
  return files.flat()
}

async function plainIcon(background: string): Promise<PackageFile[]> {
  const { width, height } = points.icon
  return Promise.all(
    scales.map(async (scale) => {
      const create = { width: width * scale, height: height * scale, channels: 3 as const, background }
      return packageFile(fileName('icon', scale), await sharp({ create }).png().toBuffer())
    }),
  )
}

async function scaled(role: AppleImageRole, bytes: Uint8Array): Promise<PackageFile[]> {
  const source = sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error' })
  const { format, autoOrient } = await source.metadata()
  if (format !== 'png' && format !== 'jpeg') throw new TypeError(`An image of format ${format}`)
  const { width, height } = points[role]
  const fills = (scale: number) => autoOrient.width >= width * scale || autoOrient.height >= height * scale
  return Promise.all(
    scales
      .filter((scale) => scale === 1 || fills(scale))
      .map(async (scale) => {
        const box = { width: width * scale, height: height * scale }
        const resized = source
          .clone()
          .autoOrient()
          .resize({ ...box, fit: 'inside', withoutEnlargement: true })
        return packageFile(fileName(role, scale), await resized.png().toBuffer())
      }),
  )
}

function fileName(role: AppleImageRole, scale: (typeof scales)[number]): string {
  return scale === 1 ? `${role}.png` : `${role}@${scale}x.png`
}
