import type { images as contract } from '../../../core/contract/templates/images.ts'
import { ApiError } from '../../../core/errors.ts'
import { contentId } from '../../../core/ids.ts'
import { ImageFault } from '../../../core/rules/template/image.ts'
import type { StoredImageFile } from '../../../storage/templates/images-repository.ts'
import type { Handlers } from '../../http/mount.ts'
import { Reply } from '../../http/responses.ts'
import { audit } from '../audit.ts'
import { requireBytes } from '../limit-checks.ts'

export const images: Handlers<typeof contract> = {
  create: async ({ body }, context) => {
    const { store, services, workspaceId, now } = context
    // Leave the event-loop scheduler before the decoder runs. Otherwise, other work would wait for the decoder process.
    const leaveEventLoop = await services.eventLoop.enterRequest(workspaceId, body.length)
    const id = contentId(workspaceId, body)
    const known = await store.images.find(workspaceId, id).finally(leaveEventLoop)
    // The image was accepted earlier, and need not be decoded again.
    if (known) return known
    const { files, data, ...facts } = await services.images.accept(workspaceId, body).catch((error: unknown) => {
      throw error instanceof ImageFault ? rejection(error) : error
    })
    const image = { id, bytes: data.length, ...facts }
    const isNew = await store.transaction(async (tx) => {
      const known = await tx.images.listKnown(workspaceId, [image.id])
      if (!known.has(image.id)) await requireBytes(tx, context, storedBytes(image.bytes, files))
      const inserted = await tx.images.insert(workspaceId, { ...image, data }, now)
      if (!inserted) return false
      await tx.images.insertFiles(workspaceId, id, files)
      await audit(tx, context, 'image.create', id)
      return true
    })
    return new Reply(isNew ? 201 : 200, image)
  },
}

function storedBytes(bytes: number, files: StoredImageFile[]): number {
  return files.reduce((sum, { data }) => sum + data.length, bytes)
}

function rejection(fault: ImageFault): ApiError {
  return new ApiError('INVALID_INPUT', { message: `The image ${fault.message}.`, cause: fault })
}
