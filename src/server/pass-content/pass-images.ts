import { type ApiError, validationError } from '../../core/errors.ts'
import type { Repositories } from '../../storage/store.ts'

export interface PassImage {
  name: string
  id: string
}

/** Finds the images of passes in one query, and locks the images against deletion until the transaction ends. */
export async function openImages(tx: Repositories, workspaceId: string, images: PassImage[]) {
  const ids = [...new Set(images.map(({ id }) => id))]
  const known = ids.length > 0 ? await tx.images.lockKnown(workspaceId, ids) : new Set<string>()
  return (ofPass: PassImage[]): ApiError | undefined => {
    const unknown = ofPass.filter(({ id }) => !known.has(id))
    if (unknown.length === 0) return undefined
    const message = 'Image not found in the workspace; upload it first'
    return validationError(unknown.map(({ name }) => ({ path: ['variables', name], message })))
  }
}

export function usesOf({ id, images }: { id: string; images: PassImage[] }) {
  return [...new Set(images.map((image) => image.id))].map((imageId) => ({ passId: id, imageId }))
}
