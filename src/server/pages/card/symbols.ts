import { createRequire } from 'node:module'
import type { RenderOptions } from 'bwip-js/node'
import type { BarcodeFormat } from '../../../core/contract/definition.ts'
import { createFairCache } from '../../../storage/db/fair-cache.ts'

/** Loaded with the first barcode and not with the server: the library has two megabytes. */
const library = (): typeof import('bwip-js/node') => createRequire(import.meta.url)('bwip-js/node')

/** Names of the formats for screen readers. */
export const symbolNames: Record<BarcodeFormat, string> = {
  qr: 'QR code',
  pdf417: 'PDF417 barcode',
  aztec: 'Aztec code',
  code128: 'Barcode',
}

const options: Record<BarcodeFormat, Omit<RenderOptions, 'text'>> = {
  qr: { bcid: 'qrcode' },
  pdf417: { bcid: 'pdf417' },
  aztec: { bcid: 'azteccode' },
  // Scanners read the bytes of Code 128 as Latin-1, and of the other formats as UTF-8.
  code128: { bcid: 'code128', binarytext: true },
}

/**
 * The maximum length of a message. A longer one has modules too small for a camera, and takes more than 100 ms to lay
 * out.
 */
const MAX_BYTES = 1000

/**
 * The size of the cache of drawn symbols. Drawing one blocks the event loop for 2 to 100 ms, and anyone can reload a
 * hosted link.
 */
const MAX_KEPT_BYTES = 4 * 1024 * 1024

interface Drawn {
  svg: string | undefined
  bytes: number
}

const drawn = createFairCache<Drawn>(MAX_KEPT_BYTES, ({ bytes }) => bytes)

/**
 * Draws black modules on a transparent background, without a quiet zone. Returns undefined if the format cannot encode
 * the message.
 */
export function barcodeSvg(format: BarcodeFormat, message: string): string | undefined {
  if (Buffer.byteLength(message) > MAX_BYTES) return undefined
  const known = drawn.get(format, message)
  if (known) return known.svg
  const svg = draw(format, message)
  drawn.set(format, message, { svg, bytes: message.length + (svg?.length ?? 0) })
  return svg
}

function draw(format: BarcodeFormat, message: string): string | undefined {
  try {
    const svg = library()
      .toSVG({ ...options[format], text: message })
      .trim()
    // Bars can be stretched, so that a long code is as high as a short one.
    return format === 'code128' ? svg.replace('<svg ', '<svg preserveAspectRatio="none" ') : svg
  } catch (error) {
    if (isRejection(error)) return undefined
    throw error
  }
}

/** Whether the library rejected the message: its errors are named like `bwipp.code128inputTooLong#9205`. */
function isRejection(error: unknown): boolean {
  return /^bwipp\.|^bwip-js/.test(error instanceof Error ? error.message : String(error))
}
