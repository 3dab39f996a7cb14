import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import type { RenderOptions } from 'bwip-js/node'
import { type BarcodeFormat, barcodeFormats, drawnAs } from '../../../core/barcode-formats.ts'
import { createFairCache } from '../../../core/fair-cache.ts'
import type { Card } from '../../../core/rules/display/card.ts'

const LIBRARY = 'bwip-js/node'

/** Loads the library (two megabytes) with the first barcode, not when the server starts. */
const library = (): typeof import('bwip-js/node') => createRequire(import.meta.url)(LIBRARY)

function optionsFor(format: BarcodeFormat, text: string): RenderOptions {
  // Encode the message as scanners read it: in Latin-1 for Code 128, and in UTF-8 for the other formats.
  return { ...drawnAs(format, text), ...(format === 'code128' && { binarytext: true }) }
}

/**
 * The maximum size of a message, in bytes. The symbol of a longer message takes more than 100 ms to draw, and its
 * modules are too small for a camera.
 */
const MAX_BYTES = 1000

/**
 * The size of the cache of symbols. Each drawing blocks the event loop for 2 to 100 ms, and anyone can reload a link.
 */
const MAX_KEPT_BYTES = 4 * 1024 * 1024

const drawn = createFairCache<{ svg: string | undefined; bytes: number }>(MAX_KEPT_BYTES, ({ bytes }) => bytes)

/** Draws a barcode in black, without a quiet zone. Returns undefined if the format cannot encode the message. */
export function barcodeSvg(format: BarcodeFormat, message: string): string | undefined {
  if (Buffer.byteLength(message) > MAX_BYTES) return undefined
  const known = drawn.get(format, message)
  if (known) return known.svg
  const svg = draw(format, message)
  keep(format, message, svg)
  return svg
}

function keep(format: BarcodeFormat, message: string, svg: string | undefined): void {
  drawn.set(format, message, { svg, bytes: message.length + (svg?.length ?? 0) })
}

/** Draws symbols in a worker thread, so that `barcodeSvg` finds them in the cache. */
export async function drawAhead(symbols: readonly Pick<Card['barcode'], 'format' | 'message'>[]): Promise<void> {
  for (const { format, message } of symbols) {
    if (message === '' || Buffer.byteLength(message) > MAX_BYTES || drawn.get(format, message)) continue
    const { svg } = await drawInWorker(optionsFor(format, message))
    if (svg !== undefined) keep(format, message, asShown(format, svg))
  }
}

interface DrawnSymbol {
  svg?: string
}

/** The source of the worker thread. If the library rejects a message, the response contains no symbol. */
const WORKER_SOURCE = `
const { parentPort, workerData } = require('node:worker_threads')
const { toSVG } = require(workerData)
parentPort.on('message', (options) => {
  try {
    parentPort.postMessage({ svg: toSVG(options) })
  } catch {
    parentPort.postMessage({})
  }
})`

interface Waiting {
  symbol: RenderOptions
  resolve(drawn: DrawnSymbol): void
}

let waiting: Waiting[] = []
let drawing: Waiting | undefined
let drawer: Worker | undefined

function drawInWorker(symbol: RenderOptions): Promise<DrawnSymbol> {
  return new Promise((resolve) => {
    waiting.push({ symbol, resolve })
    drawNext()
  })
}

/** Draws the shortest message first, so that pages with long codes do not delay pages of other workspaces. */
function drawNext(): void {
  if (drawing || waiting.length === 0) return
  drawer ??= startWorker()
  waiting.sort((one, other) => one.symbol.text.length - other.symbol.text.length)
  drawing = waiting.shift()!
  drawer.postMessage(drawing.symbol)
}

function startWorker(): Worker {
  const worker = new Worker(WORKER_SOURCE, { eval: true, workerData: createRequire(import.meta.url).resolve(LIBRARY) })
  worker.on('message', (drawn: DrawnSymbol) => {
    drawing?.resolve(drawn)
    drawing = undefined
    drawNext()
  })
  // Ignore an error of the thread: `barcodeSvg` then draws the symbols itself.
  worker.on('error', () => undefined)
  worker.on('exit', () => {
    for (const { resolve } of [...(drawing ? [drawing] : []), ...waiting]) resolve({})
    drawer = drawing = undefined
    waiting = []
  })
  // Last, because a listener for messages refs the thread again. Then, the process would not end after a stop.
  worker.unref()
  return worker
}

function draw(format: BarcodeFormat, message: string): string | undefined {
  try {
    return asShown(format, library().toSVG(optionsFor(format, message)))
  } catch (error) {
    if (isRejection(error)) return undefined
    throw error
  }
}

/** Makes a linear symbol stretchable, so that a long code is drawn as high as a short one. */
function asShown(format: BarcodeFormat, svg: string): string {
  return barcodeFormats[format].shape === 'linear'
    ? svg.trim().replace('<svg ', '<svg preserveAspectRatio="none" ')
    : svg.trim()
}

/** Whether the library rejected the message: its errors are named like `bwipp.code128inputTooLong#9205`. */
function isRejection(error: unknown): boolean {
  return /^bwipp\.|^bwip-js/.test(error instanceof Error ? error.message : String(error))
}
