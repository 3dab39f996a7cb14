import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import sharp from 'sharp'
import { prepareZXingModule, readBarcodes } from 'zxing-wasm/reader'
import { barcodeFormatNames, barcodeFormats } from '../../src/core/barcode-formats.ts'

const wasm = createRequire(import.meta.url).resolve('zxing-wasm/reader/zxing_reader.wasm')

/** Reads the code in an image with the reader of the page. Returns `undefined` if there is none. */
export async function readPicture(picture: Buffer): Promise<string | undefined> {
  prepareZXingModule({ overrides: { wasmBinary: new Uint8Array(await readFile(wasm)).buffer } })
  const png = await sharp(picture).png().toBuffer()
  const formats = barcodeFormatNames.map((format) => barcodeFormats[format].zxing)
  const [found] = await readBarcodes(png, { formats, textMode: 'Plain' })
  return found?.text
}
