import sharp from 'sharp'
import type { ImageSize } from '../../wallets/wallet.ts'
import { type MadeFiles, makeFiles } from './make-files.ts'

/**
 * The process that decodes images: one at a time, told by its parent. It ends when its parent does, however that ended,
 * and by force: a decoder that is stuck in native code would hold up an orderly exit.
 */

/** What the parent sends. */
export interface DecodeRequest {
  bytes: Uint8Array
  sizes: readonly ImageSize[]
}

/** What it gets back; `ready` once, before anything else. */
export type DecodeResponse = { ready: true } | { made: MadeFiles } | { error: string }

/** Far more than any picture within the limits takes; a leak must not take the memory of the machine. */
const MAX_MEMORY_BYTES = 512 * 1024 * 1024
const WATCH_MS = 100

const die = () => process.kill(process.pid, 'SIGKILL')

process.on('disconnect', die)
// A terminal and systemd signal every process of the server. The parent finishes its requests first, then ends this one.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
setInterval(() => process.memoryUsage.rss() > MAX_MEMORY_BYTES && die(), WATCH_MS).unref()

sharp.cache(false)
sharp.concurrency(1)
// Nothing but the two loaders, whatever the first bytes of a file persuade the library of.
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
