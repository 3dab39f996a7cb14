import sharp from 'sharp'
import { MAX_PIXELS } from '../../core/rules/template/image.ts'
import type { ImageFile, ImageSize } from '../../wallets/wallet.ts'

/** A picture that was decoded: its sizes in pixels, as stored, and the files that were made of it. */
export interface MadeFiles {
  width: number
  height: number
  files: ImageFile[]
}

/** Asks the decoder to give up by itself, which leaves its process alive; the parent ends a process that does not. */
const TIMEOUT_SECONDS = 10

/**
 * Decodes a picture once and makes PNG files of it, each to fit into its size, and enlarged only where that says so;
 * sizes that the picture cannot fill are left out, but for those of scale 1. Runs native code over what strangers sent:
 * only in the process that is there for it.
 * @throws where the file is broken or takes too long
 */
export async function makeFiles(bytes: Uint8Array, sizes: readonly ImageSize[]): Promise<MadeFiles> {
  // Loaders warn of whatever is wrong with a file and then guess.
  const source = sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'warning', pages: 1 }).timeout({
    seconds: TIMEOUT_SECONDS,
  })
  const { width, height, autoOrient } = await source.metadata()
  const boxes = sizes.map(toBox)
  const { data, info } = await source
    .autoOrient()
    .resize({
      width: Math.max(1, ...boxes.map((box) => box.width)),
      height: Math.max(1, ...boxes.map((box) => box.height)),
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
    // The proportions of the picture itself: those of the intermediate one were rounded.
    const fitting = Math.min(box.width / autoOrient.width, box.height / autoOrient.height)
    const factor = size.isEnlarged ? fitting : Math.min(fitting, 1)
    const resized = sharp(data, { raw }).resize({
      width: Math.max(1, Math.round(autoOrient.width * factor)),
      height: Math.max(1, Math.round(autoOrient.height * factor)),
      fit: 'fill',
    })
    files.push({ ...size, bytes: await resized.png().toBuffer() })
  }
  return { width, height, files }
}

function toBox({ width, height, scale }: ImageSize): { width: number; height: number } {
  return { width: width * scale, height: height * scale }
}
