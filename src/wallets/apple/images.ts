import type { LoadImageFiles } from '../wallet.ts'
import { buildImageFiles, type CardImages } from './image-files.ts'
import { appleImageRoles } from './image-sizes.ts'
import { type ZipPart, zipPart } from './zip.ts'

/** What packages that show the same images have in common. */
export interface ImageSet {
  /** The files, as an archive begins with them. */
  part: ZipPart
  /** The manifest's digest of each file by name. */
  digests: Record<string, string>
}

/** Gives the image files for a card; equal images give the same set. */
export type ImageSets = (card: CardImages) => Promise<ImageSet>

/**
 * Image files are made once for all passes that show the same images (their ids name their content), and the sets used
 * last are kept, up to maxBytes in all. Callers that come together share one build; a failed one is forgotten.
 */
export function createImageSets(loadImageFiles: LoadImageFiles, { maxBytes = 64 * 1024 * 1024 } = {}): ImageSets {
  const building = new Map<string, Promise<ImageSet>>()
  // A Map keeps its order: the first is the set that was used longest ago.
  const held = new Map<string, ImageSet>()
  let heldBytes = 0

  function hold(key: string, set: ImageSet): void {
    held.set(key, set)
    heldBytes += sizeOf(set)
    for (const [oldest, oldSet] of held) {
      if (heldBytes <= maxBytes) break
      held.delete(oldest)
      heldBytes -= sizeOf(oldSet)
    }
  }

  async function build(key: string, card: CardImages): Promise<ImageSet> {
    try {
      const files = await buildImageFiles(card, loadImageFiles)
      const digests = Object.fromEntries(files.map(({ name, sha1Hex }) => [name, sha1Hex]))
      const set = { part: zipPart(files), digests }
      hold(key, set)
      return set
    } finally {
      building.delete(key)
    }
  }

  return async (card) => {
    const key = keyOf(card)
    const known = held.get(key)
    if (known) {
      held.delete(key)
      held.set(key, known)
      return known
    }
    const running = building.get(key) ?? build(key, card)
    building.set(key, running)
    return running
  }
}

function sizeOf({ part }: ImageSet): number {
  return part.entries.length
}

function keyOf({ images, background }: CardImages): string {
  const parts = appleImageRoles.map((role) => `${role}:${images[role] ?? ''}`)
  return images.icon === undefined ? [...parts, background].join(' ') : parts.join(' ')
}
