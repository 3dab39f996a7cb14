import type { Store } from '../../storage/store.ts'
import { IMMUTABLE, type PublicFile, publicFile } from './public-file.ts'

/** Images that were asked for last, each in one buffer, however many ask for it at once. */
export interface ImageCache {
  find(id: string): Promise<PublicFile | undefined>
}

/** A few dozen icons and logos, which is what phones and pages ask for again and again. */
const MAX_BYTES = 32 * 1024 * 1024

export function createImageCache({ images }: Pick<Store, 'images'>, maxBytes = MAX_BYTES): ImageCache {
  /** The one that was asked for last stands last. */
  const cached = new Map<string, PublicFile>()
  const loading = new Map<string, Promise<PublicFile | undefined>>()
  let bytes = 0

  async function load(id: string): Promise<PublicFile | undefined> {
    const image = await images.findPublic(id)
    if (!image) return undefined
    const headers = { 'cross-origin-resource-policy': 'cross-origin' }
    const { contentType, data: content } = image
    const file = publicFile({ contentType, cacheControl: IMMUTABLE, content, headers })
    keep(id, file)
    return file
  }

  function keep(id: string, file: PublicFile): void {
    cached.set(id, file)
    bytes += file.content.length
    for (const [oldest, { content }] of cached) {
      if (bytes <= maxBytes) break
      cached.delete(oldest)
      bytes -= content.length
    }
  }

  return {
    async find(id) {
      const known = cached.get(id)
      if (known) {
        cached.delete(id)
        cached.set(id, known)
        return known
      }
      const pending = loading.get(id) ?? load(id).finally(() => loading.delete(id))
      loading.set(id, pending)
      return pending
    },
  }
}
