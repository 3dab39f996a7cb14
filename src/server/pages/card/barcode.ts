import { createRequire } from 'node:module'
import type { RenderOptions } from 'bwip-js/node'
import type { BarcodeFormat } from '../../../core/contract/definition.ts'
import type { Card } from '../../../core/rules/display/card.ts'
import { escapeHtml } from '../html.ts'

/** Two megabytes of it: loaded with the first barcode, and not with the server. */
const library = (): typeof import('bwip-js/node') => createRequire(import.meta.url)('bwip-js/node')

const symbols: Record<BarcodeFormat, { name: string; options: Omit<RenderOptions, 'text'> }> = {
  qr: { name: 'QR code', options: { bcid: 'qrcode' } },
  pdf417: { name: 'PDF417 barcode', options: { bcid: 'pdf417' } },
  aztec: { name: 'Aztec code', options: { bcid: 'azteccode' } },
  // Scanners read the bytes of Code 128 as Latin-1; the others are written and read as UTF-8.
  code128: { name: 'Barcode', options: { bcid: 'code128', binarytext: true } },
}

/** A longer message has modules too small for any camera, and takes long to lay out. */
const MAX_LENGTH = 1000

/** The barcode with the text under it; one whose message the format cannot hold is shown as that text alone. */
export function barcodeHtml({ format, message, altText }: Card['barcode']): string {
  if (message === '') return ''
  const svg = barcodeSvg(format, message)
  const caption = altText?.trim() || (svg === undefined ? message : '')
  const picture = svg && `<div class="symbol" role="img" aria-label="${symbols[format].name}">${svg}</div>`
  return `<figure class="barcode ${format}">${picture ?? ''}${
    caption && `<figcaption dir="auto">${escapeHtml(caption)}</figcaption>`
  }</figure>`
}

/** Black modules on nothing, without a quiet zone; undefined where the format cannot hold the message. */
export function barcodeSvg(format: BarcodeFormat, message: string): string | undefined {
  if (message.length > MAX_LENGTH) return undefined
  try {
    const svg = library()
      .toSVG({ ...symbols[format].options, text: message })
      .trim()
    // Bars may be stretched, which keeps a long code as tall as a short one.
    return format === 'code128' ? svg.replace('<svg ', '<svg preserveAspectRatio="none" ') : svg
  } catch (error) {
    if (isRefusal(error)) return undefined
    throw error
  }
}

/** The library's own errors are named after the check that failed: `bwipp.code128inputTooLong#9205`. */
function isRefusal(error: unknown): boolean {
  return /^bwipp\.|^bwip-js/.test(error instanceof Error ? error.message : String(error))
}
