import sharp from 'sharp'
import type { ImageSize } from '../../wallets/wallet.ts'
import { type MadeFiles, makeFiles } from './make-files.ts'

/**
 * The process that decodes images, one at a time. When its parent exits for any reason, this process kills itself: an
 * orderly exit would wait for a decoder that hangs in native code.
 */

export interface DecodeRequest {
  bytes: Uint8Array
  sizes: readonly ImageSize[]
}

/** A message to the parent. The first message is `ready`, which is sent once. */
export type DecodeResponse = { ready: true } | { made: MadeFiles } | { error: string }

/**
 * The memory above which the process kills itself. Images within the limits need far less. Without this maximum, a leak
 * could use up the memory of the machine.
 */
const MAX_MEMORY_BYTES = 512 * 1024 * 1024
const WATCH_MS = 100

const killProcess = () => process.kill(process.pid, 'SIGKILL')

process.on('disconnect', killProcess)
// A terminal and systemd send these signals to every process of the server. Ignore them here: the parent first finishes
// its requests, which can need this process, and then ends this process.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
setInterval(() => process.memoryUsage.rss() > MAX_MEMORY_BYTES && killProcess(), WATCH_MS).unref()

sharp.cache(false)
sharp.concurrency(1)
// Block all loaders except PNG and JPEG, because the library chooses the loader by the content of a file.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({ operation: ['VipsForeignLoadPngBuffer', 'VipsForeignLoadJpegBuffer'] })

process.on('message', async ({ bytes, sizes }: DecodeRequest) => {
  reply(await makeFiles(bytes, sizes).then((made) => ({ made }), toError))
})
reply({ ready: true })

function toError(error: unknown): DecodeResponse {
  return { error: error instanceof Error ? error.message : String(error) }
}

function reply(message: DecodeResponse): void {
  process.send!(message)
}
