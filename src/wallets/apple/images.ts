import type { LoadImageFiles } from '../wallet.ts'
import { buildImageFiles, type CardImages } from './image-files.ts'
import { appleImageRoles } from './image-sizes.ts'
import type { PackageFile } from './package-file.ts'

/** Gives the image files for a card; equal images give the same files. */
export type ImageSets = (card: CardImages) => Promise<PackageFile[]>

/**
 * Image files are made once for all passes that show the same images (their ids name their content), and the sets used
 * last are kept, up to maxBytes in all. Callers that come together share one build; a failed one is forgotten.
 */
export function createImageSets(loadImageFiles: LoadImageFiles, { maxBytes = 64 * 1024 * 1024 } = {}): ImageSets {
  const building = new Map<string, Promise<PackageFile[]>>()
  // A Map keeps its order: the first is the set that was used longest ago.
  const held = new Map<string, PackageFile[]>()
  let heldBytes = 0

  function hold(key: string, files: PackageFile[]): void {
    held.set(key, files)
    heldBytes += sizeOf(files)
    for (const [oldest, oldFiles] of held) {
      if (heldBytes <= maxBytes) break
      held.delete(oldest)
      heldBytes -= sizeOf(oldFiles)
    }
  }

  async function build(key: string, card: CardImages): Promise<PackageFile[]> {
    try {
      const files = await buildImageFiles(card, loadImageFiles)
      hold(key, files)
      return files
    } finally {
      building.delete(key)
    }
  }

  return async (card) => {
    const key = keyOf(card)
    const files = held.get(key)
    if (files) {
      held.delete(key)
      held.set(key, files)
      return files
    }
    const running = building.get(key) ?? build(key, card)
    building.set(key, running)
    return running
  }
}

function sizeOf(files: PackageFile[]): number {
  return files.reduce((sum, file) => sum + file.bytes.length, 0)
}

function keyOf({ images, background }: CardImages): string {
  const parts = appleImageRoles.map((role) => `${role}:${images[role] ?? ''}`)
  return images.icon === undefined ? [...parts, background].join(' ') : parts.join(' ')
}
