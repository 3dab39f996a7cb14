import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { PositiveInt, route } from './schemas/common.ts'

/** The image types that can be uploaded. */
export const ImageType = z.enum(['image/png', 'image/jpeg'])

/** The maximum size of an image: 5 MiB. */
export const MAX_IMAGE_BYTES = 5 * 1024 * 1024

/** An uploaded image, without its content. */
export const Image = z.strictObject({
  id: Uuid,
  contentType: ImageType,
  width: PositiveInt,
  height: PositiveInt,
  bytes: PositiveInt,
})
export type Image = z.output<typeof Image>

/** Routes of images. */
export const images = {
  create: route('POST', '/v1/images', {
    scope: 'templates:write',
    summary: 'Upload an image',
    description:
      'The body is the PNG or JPEG file: at most 16 million pixels, 16,384 on a side, and 32 scans for a JPEG; ' +
      'not animated. The same content always has the same ID, with 200 if it exists already. If 8 images of ' +
      'the workspace are waiting to be decoded, the response is 429.',
    rawBody: { contentTypes: ImageType.options, maxBytes: MAX_IMAGE_BYTES },
    responses: { 200: Image, 201: Image },
    errors: ['INVALID_INPUT', 'CONFLICT'],
  }),
}
