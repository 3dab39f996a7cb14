import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { dirname, extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ImageType } from '../../core/contract/templates/images.ts'
import { ApiError } from '../../core/errors.ts'
import { MOSAIC } from '../../core/rules/lint/mosaic.ts'
import { ImageFault, inspectImage } from '../../core/rules/template/image.ts'
import { FairGate } from '../../storage/db/fair-gate.ts'
import type { Store } from '../../storage/store.ts'
import type { StoredImageFile } from '../../storage/templates/images-repository.ts'
import { appleImageSizes } from '../../wallets/apple/image-files.ts'
import type { ImageFile, ImageSize } from '../../wallets/wallet.ts'
import { createCounters } from '../admission/counters.ts'
import type { Logger } from '../log.ts'
import type { DecodeRequest, DecodeResponse } from './child.ts'
import type { MadeFiles } from './make-files.ts'
import { withOrientation } from './orientation.ts'

export interface AcceptedImage {
  contentType: ImageType
  /** The uploaded image without metadata, except its color profile and its orientation. */
  data: Uint8Array
  width: number
  height: number
  files: StoredImageFile[]
}

export type Images = ReturnType<typeof createImages>

/** The maximum number of uploads (up to 5 MiB each) that wait or are being decoded, in total and per workspace. */
const MAX_WAITING = 24
const MAX_WAITING_OF_WORKSPACE = 8
const RETRY_AFTER_SECONDS = 2

export function createImages(store: Store, decoder: Decoder) {
  const queue = createFairQueue({ max: MAX_WAITING, maxOfOwner: MAX_WAITING_OF_WORKSPACE, toError: busy })

  async function decode(workspaceId: string, bytes: Uint8Array, sizes: readonly ImageSize[]) {
    const facts = inspectImage(bytes)
    if ('fault' in facts) throw new ImageFault(facts.fault)
    const made = await queue.run(workspaceId, () => decoder.decode({ bytes, sizes }))
    const { contentType, parts } = facts
    return { ...made, contentType, parts }
  }

  return {
    /** Creates all files of an image that a pass can need. @throws ImageFault; ApiError if too many uploads wait */
    async accept(workspaceId: string, bytes: Uint8Array): Promise<AcceptedImage> {
      const made = await decode(workspaceId, bytes, appleImageSizes)
      const { contentType, width, height, files, mosaic, orientation } = made
      const data = withOrientation(contentType, Buffer.concat(made.parts), orientation)
      return { contentType, data, width, height, files: [...files.map(toStored), { size: MOSAIC_FILE, data: mosaic }] }
    },

    /** Returns the files of an image. Creates and stores missing files, if an older version accepted the image. */
    async loadFiles(id: string, sizes: readonly ImageSize[]): Promise<ImageFile[]> {
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

/** The name of the file with the mosaic of an image, from which the warnings about a template are computed. */
export const MOSAIC_FILE = `mosaic ${MOSAIC.columns}x${MOSAIC.rows}`

function toStored({ bytes, ...size }: ImageFile): StoredImageFile {
  return { size: nameOf(size), data: bytes }
}

/**
 * Returns the name of the file in a size. It contains the size, so that a release that needs other sizes creates new
 * files instead of using the stored ones.
 */
function nameOf({ width, height, scale }: ImageSize): string {
  return `${width}x${height}@${scale}`
}

function busy(isOwners: boolean): ApiError {
  const headers = { 'retry-after': String(RETRY_AFTER_SECONDS) }
  return isOwners
    ? new ApiError('RATE_LIMITED', {
        message: `${MAX_WAITING_OF_WORKSPACE} images of this workspace are already waiting to be decoded. Retry later.`,
        headers,
      })
    : new ApiError('SERVICE_UNAVAILABLE', {
        message: 'Too many images are waiting to be decoded. Retry later.',
        headers,
      })
}

export interface FairQueueOptions {
  /** The maximum number of waiting and running tasks per owner. `max` is the maximum of all owners together. */
  maxOfOwner: number
  max: number
  places?: number
  /** @param isOwners whether the owner has too many tasks; false if the queue has too many */
  toError: (isOwners: boolean) => Error
}

/**
 * Creates a queue that runs a limited number of tasks at a time. Owners take turns, regardless of how many tasks each
 * has.
 */
export function createFairQueue({ maxOfOwner, max, places = 1, toError }: FairQueueOptions) {
  const gate = new FairGate({ places, share: places })
  const counts = createCounters()

  return {
    /** @throws the result of `toError` immediately if the owner or the queue already has the maximum number of tasks */
    async run<T>(owner: string, work: () => Promise<T>): Promise<T> {
      const isOwners = counts.of(owner) >= maxOfOwner
      if (isOwners || counts.total() >= max) throw toError(isOwners)
      counts.add(owner, 1)
      // Wait without a timeout. Otherwise, a task could be rejected after it was accepted.
      await gate.enter({ name: owner, work: 'requests' })
      try {
        return await work()
      } finally {
        gate.leave({ name: owner, work: 'requests' })
        counts.add(owner, -1)
      }
    },
  }
}

export interface Decoder {
  /** @throws ImageFault if the image is damaged, takes too long, or crashes the decoder */
  decode(request: DecodeRequest): Promise<MadeFiles>
  /** Ends the process. The next call of `decode` starts a new process. */
  close(): void
}

export interface DecoderOptions {
  log: Pick<Logger, 'warn'>
  /** The time after which the process is killed and the image is rejected. */
  killAfterSeconds?: number
  /** The file that the process runs. Tests use a program that misbehaves. */
  program?: string
}

/**
 * The default of `killAfterSeconds`. The most expensive image within the limits of inspectImage takes two seconds on
 * one core.
 */
const KILL_AFTER_SECONDS = 15
const START_SECONDS = 30
/** The idle time after which the process is ended to free its memory. */
const IDLE_MS = 60_000

export function createDecoder(options: DecoderOptions): Decoder {
  const { log, killAfterSeconds = KILL_AFTER_SECONDS, program = siblingOf('child') } = options
  let running: Promise<DecoderProcess> | undefined
  let idle: NodeJS.Timeout | undefined

  function close(): void {
    clearTimeout(idle)
    running?.then((process) => process.end()).catch(() => undefined)
    running = undefined
  }

  function start(): Promise<DecoderProcess> {
    const started = startDecoder(program, () => {
      if (running === started) running = undefined
    })
    return started
  }

  return {
    async decode(request) {
      clearTimeout(idle)
      running ??= start()
      try {
        const response = await (await running).ask(request, killAfterSeconds)
        if ('made' in response) return response.made
        throw new ImageFault('cannot be decoded: it is broken, or takes too long', { cause: response })
      } catch (error) {
        if (!(error instanceof DecoderEnded)) throw error
        log.warn({ reason: error.message }, 'an image crashed the process that decodes images, and is rejected')
        throw new ImageFault('cannot be decoded: it crashes the decoder', { cause: error })
      } finally {
        idle = setTimeout(close, IDLE_MS).unref()
      }
    },
    close,
  }
}

class DecoderEnded extends Error {
  override readonly name = 'DecoderEnded'
}

type DecoderProcess = Awaited<ReturnType<typeof startDecoder>>

/** Starts the process, and waits until it has loaded its libraries. */
async function startDecoder(program: string, onEnd: () => void) {
  const child = fork(program, [], {
    // If the server runs from source, the program is a TypeScript file, which needs tsx.
    execArgv: extname(program) === '.ts' ? ['--import', 'tsx'] : [],
    // Node resolves tsx from this folder.
    cwd: dirname(program),
    // Do not pass the environment of the server. An attacker who takes over the decoder would find keys in it.
    // VIPS_WARNING keeps warnings of the image library out of the log.
    env: { VIPS_WARNING: 'none', MALLOC_ARENA_MAX: '2' },
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const ended = new Promise<never>((_, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => reject(new DecoderEnded(`It ended with ${signal ?? `code ${code}`}`)))
  })
  ended.catch(onEnd)

  async function next(seconds: number): Promise<DecodeResponse> {
    setBusy(child, true)
    const late = setTimeout(() => child.kill('SIGKILL'), seconds * 1000)
    try {
      const [response] = await Promise.race([once(child, 'message'), ended])
      return response
    } finally {
      clearTimeout(late)
      setBusy(child, false)
    }
  }

  try {
    await next(START_SECONDS)
  } catch (cause) {
    child.kill('SIGKILL')
    throw new Error('The process that decodes images does not start', { cause })
  }
  // Lower the priority, so that decoding does not slow down the process of the server.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
  return {
    /** @throws DecoderEnded */
    ask(request: DecodeRequest, seconds: number): Promise<DecodeResponse> {
      const response = next(seconds)
      if (child.connected) child.send(request, () => undefined)
      return response
    },
    end: () => child.kill('SIGKILL'),
  }
}

function setBusy(child: ChildProcess, isBusy: boolean): void {
  for (const handle of [child, child.channel]) isBusy ? handle?.ref() : handle?.unref()
}

function siblingOf(name: string): string {
  const own = fileURLToPath(import.meta.url)
  return fileURLToPath(new URL(`./${name}${extname(own)}`, import.meta.url))
}
