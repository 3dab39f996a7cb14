import { z } from 'zod'
import { Uuid } from '../../ids.ts'
import { PositiveInt, route } from '../schemas/common.ts'

/** The image types that can be uploaded. */
export const ImageType = z.enum(['image/png', 'image/jpeg'])
export type ImageType = z.output<typeof ImageType>

/** The maximum size of an image: 5 MiB. */
export const MAX_IMAGE_BYTES = 5 * 1024 * 1024

/** The properties of an uploaded image, without its content. */
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
      'The body is a PNG or JPEG file, not animated, with at most 16 million pixels, and at most 16,384 pixels per ' +
      'side. A JPEG can have at most 32 scans. The server removes metadata, such as the location of a photo, and ' +
      'keeps pixels, color profile, and orientation. The response has the size of the upright image. The ID is ' +
      'derived from the uploaded file: if the image exists, the response is 200 with the existing image. If 8 images ' +
      'of the workspace are waiting to be decoded, the response is 429.',
    rawBody: { contentTypes: ImageType.options, maxBytes: MAX_IMAGE_BYTES },
    responses: { 200: Image, 201: Image },
    errors: ['INVALID_INPUT', 'CONFLICT'],
  }),
}
