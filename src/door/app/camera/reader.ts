import { barcodeFormats } from '../../../core/barcode-formats.ts'
import type { Reading } from './code-tracker.ts'

export interface ReaderRequest {
  picture: ImageData
  /** Whether to search every row of the image and smaller copies of it, which takes longer. */
  isHard: boolean
}

export interface ReaderAnswer {
  reading: Reading | undefined
  decodeMs: number
}

export interface Reader {
  read(video: HTMLVideoElement): Promise<Reading | undefined>
  close(): void
}

/** The path of the worker's script, relative to the page. Set by scripts/build-door.js. */
declare const DOOR_READER: string

const FORMATS = [
  ...Object.values(barcodeFormats).map(({ browser }) => browser),
  // Require UPC-A, too, because some browsers report an EAN-13 that starts with 0 only as UPC-A.
  'upc_a',
]
const MATRIX = Object.values(barcodeFormats).flatMap(({ browser, shape }) => (shape === 'linear' ? [] : [browser]))

interface Detector {
  detect(source: HTMLVideoElement): Promise<{ rawValue: string; format: string }[]>
}

interface DetectorClass {
  new (options: { formats: string[] }): Detector
  getSupportedFormats(): Promise<string[]>
}

/** Opens the browser's own reader if it supports every format, else the reader from this server. */
export async function openReader(): Promise<Reader> {
  const { BarcodeDetector } = globalThis as { BarcodeDetector?: DetectorClass }
  const known = (await BarcodeDetector?.getSupportedFormats().catch(() => [])) ?? []
  if (BarcodeDetector && FORMATS.every((format) => known.includes(format))) {
    return detectorReader(new BarcodeDetector({ formats: FORMATS }))
  }
  return workerReader(new Worker(new URL(DOOR_READER, import.meta.url), { type: 'module' }))
}

function detectorReader(detector: Detector): Reader {
  return {
    async read(video) {
      const [found] = await detector.detect(video)
      return found && { text: found.rawValue, isLinear: !MATRIX.some((name) => name === found.format) }
    },
    close: () => undefined,
  }
}

/** The maximum width of the whole frame, in pixels. Wider frames take longer to read, without more success. */
const WHOLE_WIDTH = 1280
/** The maximum width of a part of the frame, in pixels. */
const PART_WIDTH = 960

/**
 * The views that are read in turn: the whole frame, its middle in full resolution, and the whole frame rotated by some
 * degrees, because the decoder cannot read a skewed PDF417 code.
 */
const turns = [
  { isWhole: true, degrees: 0 },
  { isWhole: false, degrees: 0 },
  { isWhole: true, degrees: 12 },
  { isWhole: true, degrees: 0 },
  { isWhole: false, degrees: 0 },
  { isWhole: true, degrees: -12 },
] as const

function workerReader(worker: Worker): Reader {
  const canvas = document.createElement('canvas')
  const context = canvas.getContext('2d', { willReadFrequently: true })!
  let count = 0

  function take(video: HTMLVideoElement, { isWhole, degrees }: (typeof turns)[number]): ImageData {
    const { videoWidth: width, videoHeight: height } = video
    const part = isWhole ? 1 : 2 / 3
    const scale = Math.min(1, (isWhole ? WHOLE_WIDTH : PART_WIDTH) / (Math.max(width, height) * part))
    const [toWidth, toHeight] = [Math.round(width * part * scale), Math.round(height * part * scale)]
    if (canvas.width !== toWidth) canvas.width = toWidth
    if (canvas.height !== toHeight) canvas.height = toHeight
    context.setTransform(scale, 0, 0, scale, toWidth / 2, toHeight / 2)
    context.rotate((degrees * Math.PI) / 180)
    context.drawImage(video, -width / 2, -height / 2)
    return context.getImageData(0, 0, toWidth, toHeight)
  }

  return {
    read: (video) =>
      new Promise((resolve, reject) => {
        const turn = turns[count % turns.length]!
        count += 1
        worker.onmessage = ({ data }: MessageEvent<ReaderAnswer>) => resolve(data.reading)
        worker.onerror = ({ message }) => reject(new Error(message))
        const picture = take(video, turn)
        worker.postMessage({ picture, isHard: turn.isWhole } satisfies ReaderRequest, [picture.data.buffer])
      }),
    close: () => worker.terminate(),
  }
}
