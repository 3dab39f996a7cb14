import { prepareZXingModule, type ReaderOptions, readBarcodes } from 'zxing-wasm/reader'
import wasm from 'zxing-wasm/reader/zxing_reader.wasm'
import { barcodeFormatNames, barcodeFormats } from '../../../core/barcode-formats.ts'
import type { ReaderAnswer, ReaderRequest } from './reader.ts'

/**
 * The WebAssembly reader in a separate thread: receives an image and posts the result. Everything is loaded from this
 * host.
 */
const ready = prepareZXingModule({
  overrides: { locateFile: () => new URL(wasm, import.meta.url).href },
  fireImmediately: true,
})

/**
 * The formats that are not linear. Linear formats are not listed, because the reader reports their variants under other
 * names, such as `Code39`.
 */
const MATRIX = Object.values(barcodeFormats).flatMap(({ zxing, shape }) => (shape === 'linear' ? [] : [zxing]))

const options: ReaderOptions = {
  formats: barcodeFormatNames.map((format) => barcodeFormats[format].zxing),
  maxNumberOfSymbols: 1,
  // The number of rows that must agree for a linear code.
  minLineCount: 3,
  tryInvert: true,
  tryRotate: true,
  textMode: 'Plain',
}

addEventListener('message', async ({ data: { picture, isHard } }: MessageEvent<ReaderRequest>) => {
  await ready
  const started = performance.now()
  const found = await readBarcodes(picture, { ...options, tryHarder: isHard, tryDownscale: isHard })
  const [first] = found.filter(({ isValid, text }) => isValid && text !== '')
  const reading = first && { text: first.text, isLinear: !MATRIX.some((name) => name === first.format) }
  postMessage({ reading, decodeMs: performance.now() - started } satisfies ReaderAnswer)
})
