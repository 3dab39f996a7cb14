import type { ImageRole, PassType } from '../../core/contract/definition.ts'
import type { ImageSize } from '../wallet.ts'

interface Points {
  width: number
  height: number
}

interface RoleSizes {
  /** What files are made to fit into: the largest that any style shows. */
  fit: Points
  /** Files of all scales are made, of a smaller picture by enlarging it: without them a phone shows none in places. */
  isEnlarged?: true
  /** What each style shows, by Apple's guide; a style that is not named shows none. */
  shown: Partial<Record<PassType, Points>>
}

const ICON = { width: 38, height: 38 }
const LOGO = { width: 160, height: 50 }
const THUMBNAIL = { width: 90, height: 90 }
const onEveryStyle = (size: Points) => ({
  boardingPass: size,
  coupon: size,
  eventTicket: size,
  generic: size,
  storeCard: size,
})

/** The sizes of images in points, which a file holds once, twice and three times as pixels. A hero is not Apple's. */
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
} satisfies Partial<Record<ImageRole, RoleSizes>>

export type AppleImageRole = keyof typeof imageSizes
export const appleImageRoles = Object.keys(imageSizes) as AppleImageRole[]

const scales = [1, 2, 3] as const

export function sizesOf(role: AppleImageRole): ImageSize[] {
  const { fit, isEnlarged }: RoleSizes = imageSizes[role]
  return scales.map((scale) => ({ ...fit, scale, ...(isEnlarged && { isEnlarged }) }))
}

/** Every size that a package may ask for, whatever the image turns out to be used as. */
export const appleImageSizes: readonly ImageSize[] = appleImageRoles.flatMap(sizesOf)
