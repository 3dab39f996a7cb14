import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import sharp from 'sharp'
import { prepareZXingModule, readBarcodes } from 'zxing-wasm/reader'

const wasm = createRequire(import.meta.url).resolve('zxing-wasm/reader/zxing_reader.wasm')

/** What the code in a picture says, as the reader of the page reads it; undefined where none is seen. */
export async function readPicture(picture: Buffer): Promise<string | undefined> {
  prepareZXingModule({ overrides: { wasmBinary: new Uint8Array(await readFile(wasm)).buffer } })
  const png = await sharp(picture).png().toBuffer()
  const [found] = await readBarcodes(png, { formats: ['QRCode'] })
  return found?.text
}
