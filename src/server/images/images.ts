import { ApiError } from '../../core/errors.ts'
import { ImageFault, type ImageType, inspectImage } from '../../core/rules/template/image.ts'
import { FairGate } from '../../storage/db/fair-gate.ts'
import type { Store } from '../../storage/store.ts'
import type { StoredImageFile } from '../../storage/templates/images.ts'
import { appleImageSizes } from '../../wallets/apple/image-sizes.ts'
import type { ImageFile, ImageSize, LoadImageFiles } from '../../wallets/wallet.ts'
import { createDecoder, type DecoderOptions } from './decoder.ts'

/** An image that was uploaded and found sound. */
export interface AcceptedImage {
  contentType: ImageType
  width: number
  height: number
  files: StoredImageFile[]
}

/** Decodes images once, in a process of its own, and keeps what passes need of them. */
export interface Images {
  /**
   * Decodes an upload and makes all the files that a pass may need of it.
   * @throws ImageFault; Problem RATE_LIMITED or SERVICE_UNAVAILABLE where too many wait
   */
  accept(workspaceId: string, bytes: Uint8Array): Promise<AcceptedImage>
  /** As they were made; of an image that was uploaded to an older program they are made now, and kept. */
  loadFiles: LoadImageFiles
  close(): void
}

/** An upload holds up to 5 MiB while it waits. */
const MAX_WAITING = 24
const MAX_WAITING_OF_WORKSPACE = 8
const RETRY_AFTER_SECONDS = 2

export function createImages(store: Store, options: DecoderOptions): Images {
  const decoder = createDecoder(options)
  const queue = createFairQueue({ max: MAX_WAITING, maxOfOwner: MAX_WAITING_OF_WORKSPACE })

  async function decode(workspaceId: string, bytes: Uint8Array, sizes: readonly ImageSize[]) {
    const facts = inspectImage(bytes)
    if ('fault' in facts) throw new ImageFault(facts.fault)
    const made = await queue
      .run(workspaceId, () => decoder.decode({ bytes, sizes }))
      .catch((error: unknown) => {
        throw error instanceof QueueFull ? busy(error) : error
      })
    return { ...made, contentType: facts.contentType, isAnimated: facts.isAnimated }
  }

  return {
    async accept(workspaceId, bytes) {
      const { contentType, isAnimated, width, height, files } = await decode(workspaceId, bytes, appleImageSizes)
      if (isAnimated) throw new ImageFault('is animated, and passes show still images')
      return { contentType, width, height, files: files.map(toStored) }
    },

    async loadFiles(id, sizes) {
      const stored = await store.images.listFiles(id, sizes.map(nameOf))
      const byName = new Map(stored.map(({ size, data }) => [size, data]))
      const found = sizes.flatMap((size) => {
        const bytes = byName.get(nameOf(size))
        return bytes ? [{ ...size, bytes }] : []
      })
      if (sizes.every((size) => (size.scale > 1 && !size.isEnlarged) || byName.has(nameOf(size)))) return found
      const image = await store.images.findPublic(id)
      if (!image) throw new Error(`There is no image ${id}`)
      const { files } = await decode(image.workspaceId, image.data, sizes)
      await store.transaction((tx) => tx.images.insertFiles(image.workspaceId, id, files.map(toStored)))
      return files
    },

    close: decoder.close,
  }
}

function toStored({ bytes, ...size }: ImageFile): StoredImageFile {
  return { size: nameOf(size), data: bytes }
}

/** Names the pixels too, so that other sizes in a later program are other files. */
function nameOf({ width, height, scale }: ImageSize): string {
  return `${width}x${height}@${scale}`
}

function busy({ isOwners }: QueueFull): ApiError {
  const headers = { 'retry-after': String(RETRY_AFTER_SECONDS) }
  return isOwners
    ? new ApiError('RATE_LIMITED', {
        message: `Images of this workspace are being decoded, ${MAX_WAITING_OF_WORKSPACE} at once; send the next one later.`,
        headers,
      })
    : new ApiError('SERVICE_UNAVAILABLE', { message: 'Too many images wait to be decoded; send it again.', headers })
}

/** Runs a few pieces of work at a time; those who wait take turns, however much one of them brought. */
export interface FairQueue {
  /**
   * Resolves or rejects as the work does.
   * @throws QueueFull at once, where the owner, or all together, wait with as much as they may
   */
  run<T>(owner: string, work: () => Promise<T>): Promise<T>
}

export class QueueFull extends Error {
  override readonly name = 'QueueFull'
  /** Whether the owner alone brought too much; else all together did. */
  readonly isOwners: boolean

  constructor(isOwners: boolean) {
    super('The queue is full')
    this.isOwners = isOwners
  }
}

export interface FairQueueOptions {
  /** Pieces that one owner has waiting or running, and all owners together. */
  maxOfOwner: number
  max: number
  /** How many run at once; 1 by default. */
  places?: number
}

export function createFairQueue({ maxOfOwner, max, places = 1 }: FairQueueOptions): FairQueue {
  const gate = new FairGate({ places, shareOf: () => places })
  const counts = new Map<string, number>()
  let total = 0

  function count(owner: string, change: 1 | -1): void {
    const left = (counts.get(owner) ?? 0) + change
    total += change
    if (left > 0) counts.set(owner, left)
    else counts.delete(owner)
  }

  return {
    async run(owner, work) {
      const isOwners = (counts.get(owner) ?? 0) >= maxOfOwner
      if (isOwners || total >= max) throw new QueueFull(isOwners)
      count(owner, 1)
      // It waits for as long as it takes, so that it is never refused here.
      await gate.enter(owner)
      try {
        return await work()
      } finally {
        gate.leave(owner)
        count(owner, -1)
      }
    },
  }
}
