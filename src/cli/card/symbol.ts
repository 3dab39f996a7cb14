import type { BarcodeFormat } from '../../core/contract/definition.ts'

/** Modules of a two-dimensional code, row by row: true is dark. */
export type Modules = boolean[][]

/** How the library calls a format, and the light modules that readers need around it. */
const symbols = {
  qr: { bcid: 'qrcode', quietZone: 4 },
  aztec: { bcid: 'azteccode', quietZone: 2 },
  pdf417: { bcid: 'pdf417', quietZone: 2 },
} as const

/** A longer message has more modules than any terminal has room for, and takes long to lay out. */
const MAX_LENGTH = 1000

/** The code with its quiet zone; undefined for a bar code, and for a message that the format cannot hold. */
export async function symbolModules(format: BarcodeFormat, message: string): Promise<Modules | undefined> {
  if (format === 'code128' || message === '' || message.length > MAX_LENGTH) return undefined
  // A named export raw is something else: a symbol of that name.
  const { default: library } = await import('bwip-js/node')
  const { bcid, quietZone } = symbols[format]
  try {
    const [symbol] = library.raw({ bcid, text: message })
    return symbol && 'pixs' in symbol ? framed(symbol, quietZone) : undefined
  } catch (error) {
    // The library names its refusals after the check that failed: `bwipp.qrcodeTooLong#1234`.
    if (error instanceof Error && /^bwipp\.|^bwip-js/.test(error.message)) return undefined
    throw error
  }
}

/** Two modules in each character: the upper and the lower half. Light is drawn, dark is what stands behind it. */
export function halfBlocks(modules: Modules): string[] {
  const lines: string[] = []
  for (let y = 0; y < modules.length; y += 2) {
    const upper = modules[y]!
    const lower = modules[y + 1] ?? upper.map(() => false)
    lines.push(upper.map((isDark, x) => blocks[(isDark ? 0 : 1) + (lower[x] ? 0 : 2)]).join(''))
  }
  return lines
}

const blocks = [' ', '▀', '▄', '█']

function framed({ pixs, pixx, pixy }: { pixs: number[]; pixx: number; pixy: number }, quietZone: number): Modules {
  // The rows of PDF417 are given once, and are to be drawn several modules tall.
  const tall = (pixx * pixy) / pixs.length
  return Array.from({ length: pixy + 2 * quietZone }, (_, row) =>
    Array.from({ length: pixx + 2 * quietZone }, (__, column) => {
      const [x, y] = [column - quietZone, Math.floor((row - quietZone) / tall)]
      return x >= 0 && x < pixx && y >= 0 && pixs[y * pixx + x] === 1
    }),
  )
}
