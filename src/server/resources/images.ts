import sharp from 'sharp'
import type { images as contract } from '../../core/contract/images.ts'
import { Problem } from '../../core/errors.ts'
import { contentId } from '../../core/ids.ts'
import { imageTypeOf } from '../../core/rules/image.ts'
import { audit } from '../audit.ts'
import type { Handlers } from '../mount.ts'

/** No wallet shows more; a file that claims more is refused before a pixel is decoded. */
const MAX_PIXELS = 16_000_000

export const images: Handlers<typeof contract> = {
  create: async ({ body }, context) => {
    const { store, workspaceId, now } = context
    const image = { id: contentId(workspaceId, body), bytes: body.length, ...(await decode(body)) }
    const isNew = await store.transaction(async (tx) => {
      const inserted = await tx.images.insert(workspaceId, { ...image, data: body }, now)
      if (inserted) await audit(tx, context, 'image.create', image.id)
      return inserted
    })
    return { status: isNew ? 201 : 200, body: image }
  },
}

/** @throws Problem INVALID_INPUT for anything but a whole PNG or JPEG of sane size */
async function decode(bytes: Uint8Array) {
  const contentType = imageTypeOf(bytes)
  if (!contentType) throw new Problem('INVALID_INPUT', { message: 'The file is neither PNG nor JPEG.' })
  try {
    const { info } = await sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'warning', pages: 1 })
      .raw()
      .toBuffer({ resolveWithObject: true })
    return { contentType, width: info.width, height: info.height }
  } catch (cause) {
    throw new Problem('INVALID_INPUT', {
      message: `The image cannot be decoded: it is broken, or has more than ${MAX_PIXELS / 1_000_000} million pixels.`,
      cause,
    })
  }
}
