import { prepareZXingModule, type ReaderOptions, readBarcodes } from 'zxing-wasm/reader'
import wasm from 'zxing-wasm/reader/zxing_reader.wasm'
import { barcodeFormats } from '../../../core/barcode-formats.ts'
import type { ReaderAnswer, ReaderRequest } from './reader.ts'

/**
 * The WebAssembly reader in a separate thread: receives an image and posts the result. Everything is loaded from this
 * host.
 */
const ready = prepareZXingModule({
  overrides: { locateFile: () => new URL(wasm, import.meta.url).href },
  fireImmediately: true,
})

const options: ReaderOptions = {
  formats: Object.values(barcodeFormats).map(({ zxing }) => zxing),
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
  const reading = first && { text: first.text, isLinear: first.format === 'Code128' }
  postMessage({ reading, decodeMs: performance.now() - started } satisfies ReaderAnswer)
})
