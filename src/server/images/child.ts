import sharp from 'sharp'
import type { ImageSize } from '../../wallets/wallet.ts'
import { type MadeFiles, makeFiles } from './make-files.ts'

/**
 * The process that decodes images, one at a time. When its parent exits for any reason, this process kills itself,
 * because a decoder that hangs in native code would prevent an orderly exit.
 */

export interface DecodeRequest {
  bytes: Uint8Array
  sizes: readonly ImageSize[]
}

/** A message to the parent. The message `ready` is sent once, before all others. */
export type DecodeResponse = { ready: true } | { made: MadeFiles } | { error: string }

/**
 * The maximum memory of the process. Images within the limits need far less. The maximum prevents a leak from using up
 * the memory of the machine.
 */
const MAX_MEMORY_BYTES = 512 * 1024 * 1024
const WATCH_MS = 100

const killProcess = () => process.kill(process.pid, 'SIGKILL')

process.on('disconnect', killProcess)
// Ignore signals, because a terminal and systemd send them to every process of the server. The parent finishes its
// requests first, and then ends this process.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
setInterval(() => process.memoryUsage.rss() > MAX_MEMORY_BYTES && killProcess(), WATCH_MS).unref()

sharp.cache(false)
sharp.concurrency(1)
// Allow only two loaders, regardless of the file type that the library detects.
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
