import type { ImageRole, PassType } from '../../core/contract/schemas/definition.ts'
import { ApiError } from '../../core/errors.ts'
import { createLoadingCache } from '../../core/fair-cache.ts'
import type { Card } from '../../core/rules/display/card.ts'
import { ImageFault } from '../../core/rules/template/image.ts'
import { plainPng } from '../../files/plain-png.ts'
import type { ImageSize, LoadImageFiles } from '../wallet.ts'
import { type PackageFile, packageFile, type ZipPart, zipPart } from './package.ts'

export interface CardImages {
  images: Partial<Record<ImageRole, string>>
  /** The color of a plain icon, as `#rrggbb`; `undefined` if this set needs no plain icon. */
  background: string | undefined
  /** The language of the folder with these images. If omitted, the images are at the top of the package. */
  language?: string
}

/**
 * Creates the image files of a set. With a `background`, a set without an icon gets a plain icon, because phones reject
 * a pass without an icon.
 * @throws ApiError PASS_ISSUING_FAILED
 */
async function buildImageFiles(
  { images, background, language }: CardImages,
  loadImageFiles: LoadImageFiles,
): Promise<PackageFile[]> {
  const files = await Promise.all(
    appleImageRoles.map(async (role) => {
      const id = images[role]
      if (id === undefined) return role === 'icon' && background !== undefined ? plainIcon(background) : []
      const made = await loadImageFiles(id, sizesOf(role)).catch((error: unknown) => {
        throw error instanceof ImageFault ? undecodable(id, role, error) : error
      })
      const folder = language === undefined ? '' : `${language}.lproj/`
      return made.map(({ scale, bytes }) => packageFile(folder + fileName(role, scale), bytes))
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

type ShownImages = Pick<Card, 'images' | 'ownImages' | 'language'>

/**
 * Returns the images of a card as sets that several packages share. The images that all passes of a version show form
 * one set. Each image that only this pass shows is a separate set, because a set of several would seldom be reused. An
 * image that differs by language is only in the language folders, because a phone ignores the folders if the image is
 * also at the top of the package. Only the icon is in both places, because a phone can reject a pass without it.
 */
export function toImageSets(
  card: ShownImages & Pick<Card, 'colors'>,
  translations: readonly ShownImages[] = [],
): CardImages[] {
  const varying: ImageRole[] = appleImageRoles.filter((role) =>
    translations.some(({ images }) => images[role] !== card.images[role]),
  )
  const background = card.colors.background ?? PLAIN_ICON
  if (varying.length === 0) return imageSetsOf(card, background)
  const kept = (isKept: (role: ImageRole) => boolean, shown: ShownImages) => ({
    ...shown,
    images: Object.fromEntries(Object.entries(shown.images).filter(([role]) => isKept(role as ImageRole))),
  })
  const atTop = imageSetsOf(
    kept((role) => role === 'icon' || !varying.includes(role), card),
    background,
  )
  const inFolders = [card, ...translations].flatMap((shown) => {
    const sets = imageSetsOf(kept((role) => varying.includes(role), shown))
    return sets.map((set) => ({ ...set, language: shown.language! }))
  })
  return [...atTop, ...inFolders.filter(({ images }) => Object.keys(images).length > 0)]
}

function imageSetsOf({ images, ownImages = [] }: ShownImages, background?: string): CardImages[] {
  if (ownImages.length === 0) return [{ images, background }]
  const own = ownImages.flatMap((role) => {
    const id = images[role]
    return id === undefined ? [] : [{ images: { [role]: id }, background: undefined }]
  })
  const shared = Object.fromEntries(Object.entries(images).filter(([role]) => !ownImages.includes(role as ImageRole)))
  const isIconOwn = ownImages.includes('icon') && images.icon !== undefined
  return [{ images: shared, background: isIconOwn ? undefined : background }, ...own]
}

const PLAIN_ICON = '#8e8e93'

export interface ImageSet {
  /** The files, encoded as the start of a zip archive. */
  part: ZipPart
  digests: Record<string, string>
}

/** Returns the set of image files for the images of a card. Cards with equal images get the same set. */
export type ImageSets = (card: CardImages) => Promise<ImageSet>

const MAX_KEPT_BYTES = 64 * 1024 * 1024

/**
 * Creates a cache of image sets. The ID of an image is derived from its content, so passes with the same images share a
 * set.
 */
export function createImageSets(loadImageFiles: LoadImageFiles, { maxBytes = MAX_KEPT_BYTES } = {}): ImageSets {
  const sets = createLoadingCache<ImageSet>(maxBytes, ({ part }) => part.size)
  return (card) =>
    sets.find(keyOf(card), async () => {
      const files = await buildImageFiles(card, loadImageFiles)
      return { part: zipPart(files), digests: Object.fromEntries(files.map(({ name, sha1Hex }) => [name, sha1Hex])) }
    })
}

function keyOf({ images, background, language = '' }: CardImages): string {
  const parts = [language, ...appleImageRoles.map((role) => `${role}:${images[role] ?? ''}`)]
  return images.icon === undefined ? [...parts, background ?? ''].join(' ') : parts.join(' ')
}

interface Points {
  width: number
  height: number
}

interface RoleSizes {
  /** The size into which files are fitted: the largest size of any style. */
  fit: Points
  /**
   * Whether to enlarge a smaller image to all scales. If a scale is missing, a phone does not show the image in some
   * places.
   */
  isEnlarged?: true
  /** Whether few passes have such an image, so that its files are created on first use instead of at the upload. */
  isRare?: true
  /** The size of the image in each style that shows it, according to Apple's guide. */
  shown: Partial<Record<PassType, Points>>
}

const ICON = { width: 38, height: 38 }
const LOGO = { width: 160, height: 50 }
const BACKGROUND = { width: 345, height: 505 }
const ARTWORK = { width: 358, height: 448 }
const THUMBNAIL = { width: 90, height: 90 }
const PRIMARY_LOGO = { width: 126, height: 30 }
const onEveryPoster = (size: Points) => ({ coupon: size, eventTicket: size, generic: size, storeCard: size })
const onEveryStyle = (size: Points) => ({ ...onEveryPoster(size), boardingPass: size })

/** The sizes of images in points. Files have one, two, and three times as many pixels. Apple uses no hero image. */
export const imageSizes = {
  icon: { fit: ICON, isEnlarged: true, shown: onEveryStyle(ICON) },
  logo: { fit: LOGO, shown: onEveryStyle(LOGO) },
  strip: {
    fit: { width: 375, height: 144 },
    shown: {
      coupon: { width: 375, height: 144 },
      storeCard: { width: 375, height: 144 },
      eventTicket: { width: 375, height: 98 },
    },
  },
  thumbnail: { fit: THUMBNAIL, shown: { generic: THUMBNAIL, eventTicket: THUMBNAIL } },
  background: { fit: BACKGROUND, isRare: true, shown: onEveryPoster(BACKGROUND) },
  artwork: { fit: ARTWORK, isRare: true, shown: onEveryPoster(ARTWORK) },
  primaryLogo: { fit: PRIMARY_LOGO, isRare: true, shown: onEveryStyle(PRIMARY_LOGO) },
  secondaryLogo: { fit: { width: 135, height: 12 }, isRare: true, shown: { eventTicket: { width: 135, height: 12 } } },
  footer: { fit: { width: 286, height: 15 }, isRare: true, shown: { boardingPass: { width: 286, height: 15 } } },
} satisfies Partial<Record<ImageRole, RoleSizes>>

export type AppleImageRole = keyof typeof imageSizes
const appleImageRoles = Object.keys(imageSizes) as AppleImageRole[]

const scales = [1, 2, 3] as const

function sizesOf(role: AppleImageRole): ImageSize[] {
  const { fit, isEnlarged }: RoleSizes = imageSizes[role]
  return scales.map((scale) => ({ ...fit, scale, ...(isEnlarged && { isEnlarged }) }))
}

/**
 * The sizes of all roles except the rare ones (`isRare`). At the upload, each image gets files of all these sizes,
 * because its role is not known yet.
 */
export const appleImageSizes: readonly ImageSize[] = appleImageRoles
  .filter((role) => !('isRare' in imageSizes[role]))
  .flatMap(sizesOf)
