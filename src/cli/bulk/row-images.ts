import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import type { Client } from '../../client/client.ts'
import { MAX_IMAGE_BYTES } from '../../core/contract/templates/images.ts'
import { contentId, Uuid } from '../../core/ids.ts'
import { inspectImage } from '../../core/rules/template/image.ts'

export interface RowImage {
  id: string
  /** The local file; `undefined` if the cell holds an id. */
  path: string | undefined
}

export class RowImageError extends Error {
  override readonly name = 'RowImageError'
}

/** The maximum number of cached images. Evicted images are read or uploaded again. */
const MAX_CACHED = 20_000

export type RowImages = ReturnType<typeof createRowImages>

/**
 * Creates the images that the cells of a file refer to. Their ids are known before the upload, so that rows can be
 * checked and compared with existing passes before anything is uploaded.
 * @param file the CSV file, whose folder holds the images; `-` for stdin, which uses the working folder
 */
export function createRowImages(file: string, workspaceId: string) {
  const folder = file === '-' ? process.cwd() : dirname(resolve(file))
  const idsByPath = new Map<string, string>()
  const uploads = new Map<string, Promise<void>>()

  return {
    /**
     * Returns the image that a cell refers to. The id of a local image depends only on its bytes and the workspace.
     * @throws RowImageError if the cell does not name a valid image
     */
    async resolve(cell: string): Promise<RowImage> {
      if (Uuid.safeParse(cell).success) return { id: cell, path: undefined }
      const path = await findFile(folder, cell)
      const known = idsByPath.get(path)
      if (known !== undefined) return { id: known, path }
      const id = contentId(workspaceId, await readSound(path, cell))
      if (idsByPath.size >= MAX_CACHED) idsByPath.clear()
      idsByPath.set(path, id)
      return { id, path }
    },

    /** Uploads the local images that this run has not uploaded yet. */
    async upload(client: Client, images: readonly RowImage[]): Promise<void> {
      for (const { id, path } of images) {
        if (path === undefined) continue
        if (uploads.size >= MAX_CACHED) uploads.clear()
        const running = uploads.get(id) ?? send(client, id, path)
        uploads.set(id, running)
        await running.catch((error: unknown) => {
          uploads.delete(id)
          throw error
        })
      }
    },
  }
}

async function send(client: Client, id: string, path: string): Promise<void> {
  const body = await readFile(path)
  const facts = inspectImage(body)
  const contentType = 'fault' in facts ? 'image/png' : facts.contentType
  const image = await client.images.create({ body, contentType }, { idempotent: true })
  if (image.id !== id) throw new RowImageError(`${path} changed while it was read`)
}

/** Finds an image file. @throws RowImageError if it is missing, too large, or outside the folder of the CSV file */
async function findFile(folder: string, name: string): Promise<string> {
  const outside = new RowImageError(`${name} is outside the folder of the file; move it next to the file`)
  if (isAbsolute(name)) throw outside
  try {
    const [root, path] = [await realpath(folder), await realpath(resolve(folder, name))]
    const way = relative(root, path)
    if (way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way)) throw outside
    const stats = await stat(path)
    if (!stats.isFile()) throw new RowImageError(`${name} is not a file`)
    if (stats.size > MAX_IMAGE_BYTES) {
      throw new RowImageError(`${name} has ${stats.size} bytes; at most ${MAX_IMAGE_BYTES} are allowed`)
    }
    return path
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error
    throw new RowImageError(`${name} is neither a file next to the CSV file nor the ID of an image`, { cause: error })
  }
}

async function readSound(path: string, name: string): Promise<Buffer> {
  const bytes = await readFile(path)
  const facts = inspectImage(bytes)
  if ('fault' in facts) throw new RowImageError(`${name} ${facts.fault}`)
  return bytes
}
