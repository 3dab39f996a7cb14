import { writeFile } from 'node:fs/promises'
import library from 'bwip-js/node'
import sharp from 'sharp'
import { type BarcodeFormat, barcodeFormatNames, barcodeFormats, drawnAs } from '../../../src/core/barcode-formats.ts'

/** Writes a film of codes at a door, which Chromium plays as its camera. */

const WIDTH = 640
const HEIGHT = 480
/** The frame rate at which Chromium plays such a film. */
const RATE = 30

/** The ways in which a code is shown. */
const conditions = ['plain', 'tilted', 'dim', 'small', 'slanted', 'damaged', 'bright', 'moving'] as const
type Condition = (typeof conditions)[number]

/** A code that is shown for a second. */
export interface Shown {
  payload: string
  format: BarcodeFormat
  condition: Condition
}

/** Returns the given number of codes, with every format in every condition in turn. */
export function codesToShow(count: number): Shown[] {
  return Array.from({ length: count }, (_, n) => {
    const format = barcodeFormatNames[n % barcodeFormatNames.length]!
    const condition = conditions[Math.floor(n / barcodeFormatNames.length + n) % conditions.length]!
    return { payload: payloadOf(format, n), format, condition }
  })
}

function payloadOf(format: BarcodeFormat, n: number): string {
  const number = String(n * 7919 + 104_729)
  if (format === 'ean13') return ean13(number.padStart(12, '4'))
  // Start and stop letters, which the reader sends.
  if (format === 'codabar') return `A${number.padStart(8, '0')}B`
  if (format === 'itf') return number.padStart(10, '0')
  if (format === 'code39') return `C${Number(number).toString(36).toUpperCase()}`
  return `P-${String(n).padStart(3, '0')}-${Number(number).toString(36).toUpperCase()}`
}

function ean13(digits: string): string {
  const sum = [...digits].reduce((total, digit, place) => total + Number(digit) * (place % 2 === 0 ? 1 : 3), 0)
  return `${digits}${(10 - (sum % 10)) % 10}`
}

/** Returns the flags that make Chromium play a film as its camera, and allow it without a prompt. */
export function cameraFlags(film: string): string[] {
  return [
    '--use-fake-device-for-media-stream',
    '--use-fake-ui-for-media-stream',
    `--use-file-for-fake-video-capture=${film}`,
  ]
}

/** Counts the taps and the camera requests of the page. */
export const countTaps = `
globalThis.taps = 0
globalThis.asked = 0
addEventListener('click', () => { taps += 1 }, true)
const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices)
navigator.mediaDevices.getUserMedia = (wanted) => { asked += 1; return ask(wanted) }
`

/**
 * Writes a film (MJPEG) in which each code is seen for a second, and nothing for a pause after it.
 * @returns how long it plays, in seconds
 */
export async function writeFilm(path: string, shown: readonly Shown[], { pause = 0.2 } = {}): Promise<number> {
  const empty = await background().jpeg({ quality: 80 }).toBuffer()
  const frames: Buffer[] = Array.from({ length: RATE }, () => empty)
  for (const one of shown) {
    const symbol = await draw(one)
    const isMoving = one.condition === 'moving'
    const pictures = await Promise.all(
      Array.from({ length: isMoving ? 10 : 1 }, (_, step) => frame(symbol, one.condition, step)),
    )
    for (let n = 0; n < RATE; n += 1) frames.push(pictures[Math.floor(n / 3) % pictures.length]!)
    for (let n = 0; n < RATE * pause; n += 1) frames.push(empty)
  }
  await writeFile(path, Buffer.concat(frames))
  return frames.length / RATE
}

function background(): sharp.Sharp {
  return sharp({ create: { width: WIDTH, height: HEIGHT, channels: 3, background: '#7c7770' } })
}

/** Draws the symbol in black on white with its quiet zone, as large as in the hand of a guest. */
async function draw({ payload, format, condition }: Shown): Promise<Buffer> {
  const { shape } = barcodeFormats[format]
  const png = await library.toBuffer({
    ...drawnAs(format, payload),
    scale: 4,
    padding: 6,
    backgroundcolor: 'ffffff',
    ...(shape === 'linear' && { height: 14 }),
    // As much error correction as real passes have, so that a scratch does not make the barcode unreadable.
    ...(format === 'qr' && { eclevel: 'Q' }),
    ...(format === 'pdf417' && { eclevel: 4, columns: 4 }),
    ...(format === 'aztec' && { eclevel: 40 }),
  })
  const isWide = shape !== 'square'
  const width = condition === 'small' ? (isWide ? 330 : 130) : isWide ? 460 : 260
  const image = sharp(png).resize({ width, kernel: 'cubic' })
  return image.png().toBuffer()
}

async function frame(symbol: Buffer, condition: Condition, step: number): Promise<Buffer> {
  const isSlanted = condition === 'slanted'
  const seen = isSlanted ? await slanted(symbol) : symbol
  const degrees = isSlanted ? -7 : condition === 'tilted' ? 12 : 0
  const held = degrees === 0 ? seen : await sharp(seen).rotate(degrees, { background: '#7c7770' }).toBuffer()
  const { width = 0, height = 0 } = await sharp(held).metadata()
  const shift = condition === 'moving' ? (step - 5) * 8 : 0
  const [left, top] = [
    Math.round((WIDTH - width) / 2) + shift,
    Math.round((HEIGHT - height) / 2) + Math.round(shift / 2),
  ]
  const layers: sharp.OverlayOptions[] = [{ input: held, left, top }]
  // A scratch through the symbol, outside the patterns that a reader uses to find it.
  if (condition === 'damaged') {
    const scratch = { width: Math.round(width * 0.08), height: Math.round(height * 0.2), channels: 3 as const }
    const input = await sharp({ create: { ...scratch, background: '#c8c4bc' } })
      .png()
      .toBuffer()
    layers.push({ input, left: left + Math.round(width * 0.78), top: top + Math.round(height * 0.7) })
  }
  let picture = sharp(await background().composite(layers).png().toBuffer())
  if (condition === 'moving') picture = picture.blur(0.8)
  if (condition === 'dim') picture = picture.linear(0.28, 6)
  if (condition === 'bright') picture = picture.linear(0.7, 90)
  return picture.jpeg({ quality: 80 }).toBuffer()
}

/** The symbol on a card that is held at an angle: its right side is farther away, so it is narrower and lower. */
async function slanted(symbol: Buffer): Promise<Buffer> {
  const { data, info } = await sharp(symbol).flatten({ background: '#ffffff' }).greyscale().raw().toBuffer({
    resolveWithObject: true,
  })
  const { width, height, channels } = info
  /** The right side is smaller by this share. */
  const depth = 0.25
  const seenWidth = Math.round(width * (1 - depth / 2))
  const out = Buffer.alloc(seenWidth * height, 0x77)
  for (let x = 0; x < seenWidth; x += 1) {
    const across = x / (seenWidth - 1)
    // The position in the picture, in perspective.
    const along = across / (across + (1 - across) / (1 - depth))
    const scale = 1 - depth * across
    const column = Math.min(width - 1, Math.round(along * (width - 1)))
    for (let y = 0; y < height; y += 1) {
      const row = Math.round((y - (height * (1 - scale)) / 2) / scale)
      if (row >= 0 && row < height) out[y * seenWidth + x] = data[(row * width + column) * channels]!
    }
  }
  return sharp(out, { raw: { width: seenWidth, height, channels: 1 } })
    .png()
    .toBuffer()
}
