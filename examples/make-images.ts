/**
 * Draws the images of the examples: `npx tsx examples/make-images.ts [FOLDER]`.
 * FOLDER is where to write; the examples' own folder where it is left out.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { boardingPassImages } from './generator/boarding-pass-images.ts'
import { conferenceImages } from './generator/conference-images.ts'
import { couponImages } from './generator/coupon-images.ts'
import { festivalImages } from './generator/festival-images.ts'
import { coffeeCardImages, loyaltyImages, loyaltyPhotos } from './generator/loyalty-images.ts'
import { museumImages } from './generator/museum-images.ts'

const folder = process.argv[2] ?? import.meta.dirname

for (const [images, place] of [
  [conferenceImages(), 'conference/images'],
  [loyaltyImages(), 'loyalty/images'],
  [loyaltyPhotos(), 'loyalty/photos'],
  [coffeeCardImages(), 'coffee-card/images'],
  [couponImages(), 'coupon/images'],
  [boardingPassImages(), 'boarding-pass/images'],
  [museumImages(), 'museum/images'],
  [festivalImages(), 'festival/images'],
] as const) {
  const imageFolder = join(folder, place)
  await mkdir(imageFolder, { recursive: true })
  for (const [name, drawing] of Object.entries(images)) {
    await sharp(Buffer.from(drawing))
      .png({ palette: true, quality: 100, effort: 10 })
      .toFile(join(imageFolder, `${name}.png`))
  }
}
