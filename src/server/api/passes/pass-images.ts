import { type ApiError, validationError } from '../../../core/errors.ts'
import type { Repositories } from '../../../storage/store.ts'

/** An image that a variable of a pass brings. */
export interface PassImage {
  /** Of the variable. */
  name: string
  id: string
}

/** Says which images of a pass there are not, each with its variable. */
export type RequireKnown = (images: PassImage[]) => ApiError | undefined

/** Looks the images of any number of passes up at once; none of them is deleted until the transaction ends. */
export async function openImages(tx: Repositories, workspaceId: string, images: PassImage[]): Promise<RequireKnown> {
  const ids = [...new Set(images.map(({ id }) => id))]
  const known = ids.length > 0 ? await tx.images.lockKnown(workspaceId, ids) : new Set<string>()
  return (ofPass) => {
    const unknown = ofPass.filter(({ id }) => !known.has(id))
    if (unknown.length === 0) return undefined
    const message = 'There is no such image in the workspace; upload it first'
    return validationError(unknown.map(({ name }) => ({ path: ['variables', name], message })))
  }
}

/** Which images a pass has, for whoever keeps them. */
export function usesOf({ id, images }: { id: string; images: PassImage[] }) {
  return [...new Set(images.map((image) => image.id))].map((imageId) => ({ passId: id, imageId }))
}
