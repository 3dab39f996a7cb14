import sharp from 'sharp'
import { MOSAIC, type Mosaic } from '../../core/rules/lint/mosaic.ts'
import { MAX_PIXELS } from '../../core/rules/template/image.ts'
import type { ImageFile, ImageSize } from '../../wallets/wallet.ts'

export interface MadeFiles {
  /** The width of the upright image in pixels. */
  width: number
  height: number
  /** The orientation that EXIF has, 1 to 8. */
  orientation?: number | undefined
  files: ImageFile[]
  mosaic: Mosaic
}

/**
 * The timeout of an image. It is shorter than KILL_AFTER_SECONDS of the parent. Otherwise, a slow image would end the
 * process.
 */
const TIMEOUT_SECONDS = 10

/**
 * Decodes an image once, and creates a PNG file that fits into each size. Enlarges the image only for sizes with
 * `isEnlarged`. Omits other sizes above scale 1 if both their width and height exceed those of the image. Creates the
 * mosaic from the largest size. Runs native code on untrusted data, so call it only in the decoder process.
 * @throws if the file is damaged or takes too long
 */
export async function makeFiles(bytes: Uint8Array, sizes: readonly ImageSize[]): Promise<MadeFiles> {
  // Fail on warnings. Otherwise, loaders report damage only as a warning, and guess the missing data.
  const source = sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'warning', pages: 1 }).timeout({
    seconds: TIMEOUT_SECONDS,
  })
  const { orientation, autoOrient } = await source.metadata()
  const boxes = sizes.map(toBox)
  const { data, info } = await source
    .autoOrient()
    .resize({
      width: Math.max(MOSAIC.columns, ...boxes.map((box) => box.width)),
      height: Math.max(MOSAIC.rows, ...boxes.map((box) => box.height)),
      fit: 'inside',
      withoutEnlargement: true,
    })
    .raw()
    .toBuffer({ resolveWithObject: true })
  const raw = { width: info.width, height: info.height, channels: info.channels }
  const files: ImageFile[] = []
  for (const size of sizes) {
    const box = toBox(size)
    const isSmaller = autoOrient.width < box.width && autoOrient.height < box.height
    if (size.scale > 1 && isSmaller && !size.isEnlarged) continue
    // Compute the proportions from the original image, because the size of the intermediate image is rounded.
    const fitting = Math.min(box.width / autoOrient.width, box.height / autoOrient.height)
    const factor = size.isEnlarged ? fitting : Math.min(fitting, 1)
    const resized = sharp(data, { raw }).resize({
      width: Math.max(1, Math.round(autoOrient.width * factor)),
      height: Math.max(1, Math.round(autoOrient.height * factor)),
      fit: 'fill',
    })
    files.push({ ...size, bytes: await resized.png().toBuffer() })
  }
  return { ...autoOrient, orientation, files, mosaic: await makeMosaic(data, raw) }
}

async function makeMosaic(data: Uint8Array, raw: sharp.CreateRaw): Promise<Mosaic> {
  const { columns: width, rows: height } = MOSAIC
  return sharp(data, { raw })
    .resize({ width, height, fit: 'fill' })
    .toColourspace('srgb')
    .ensureAlpha()
    .raw()
    .toBuffer()
}

function toBox({ width, height, scale }: ImageSize): { width: number; height: number } {
  return { width: width * scale, height: height * scale }
}
