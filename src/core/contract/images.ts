import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { route } from '../route.ts'
import { PositiveInt } from './common.ts'

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
  create: route({
    method: 'POST',
    path: '/v1/images',
    scope: 'templates:write',
    summary: 'Upload an image',
    description:
      'The body is the file itself, PNG or JPEG: at most 16 million pixels, 16,384 on a side and, for a JPEG, 32 scans; not ' +
      'animated. The same bytes always have the same id: 200 when known. While 8 images of the workspace wait to be decoded ' +
      'the next is 429.',
    rawBody: { contentTypes: ImageType.options, maxBytes: MAX_IMAGE_BYTES },
    responses: { 200: Image, 201: Image },
    errors: ['INVALID_INPUT', 'CONFLICT'],
  }),
}
