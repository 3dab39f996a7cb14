/** An SVG document of the given size in pixels. */
export function svg(width: number, height: number, ...content: string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${content.join('')}</svg>`
}

export function linearGradient(id: string, from: string, to: string, angle = 0): string {
  return (
    `<linearGradient id="${id}" gradientTransform="rotate(${angle} .5 .5)">` +
    `<stop offset="0" stop-color="${from}"/><stop offset="1" stop-color="${to}"/></linearGradient>`
  )
}

export interface WordmarkOptions {
  x: number
  y: number
  /** Height of a capital in pixels. */
  height: number
  color: string
  /** Width of the stroke in pixels. */
  weight: number
  /** Space between two letters in pixels. */
  gap: number
}

/** A word in capitals drawn with strokes, so that the picture does not depend on the fonts of the machine. */
export function wordmark(word: string, { x, y, height, color, weight, gap }: WordmarkOptions): string {
  const scale = height / 10
  let left = x
  const letters: string[] = []
  for (const letter of word) {
    const glyph = glyphs[letter]
    if (!glyph) throw new Error(`There is no glyph for ${letter}; add one to examples/generator/svg.ts`)
    letters.push(`<path transform="translate(${left} ${y}) scale(${scale})" d="${glyph.path}"/>`)
    left += glyph.width * scale + gap
  }
  const style = `fill="none" stroke="${color}" stroke-width="${weight / scale}" stroke-linecap="round" stroke-linejoin="round"`
  return `<g ${style}>${letters.join('')}</g>`
}

/** Letters on a grid ten units high, their strokes only. */
const glyphs: Record<string, { width: number; path: string }> = {
  A: { width: 9, path: 'M0 10L4.5 0L9 10M1.6 6.6H7.4' },
  Ã: { width: 9, path: 'M0 10L4.5 0L9 10M1.6 6.6H7.4M2.3 -2.5q1.1 -1.4 2.2 -.7t2.2 -.7' },
  E: { width: 5.5, path: 'M5.5 0H0V10H5.5M0 5H4.8' },
  F: { width: 5.2, path: 'M0 10V0H5.2M0 5H4.6' },
  G: { width: 10, path: 'M9.1 2.13A5 5 0 1 0 10 5.2H6' },
  H: { width: 7.5, path: 'M0 0V10M7.5 0V10M0 5H7.5' },
  K: { width: 6.6, path: 'M0 0V10M6.2 0L0 6M2.3 4L6.6 10' },
  L: { width: 5.2, path: 'M0 0V10H5.2' },
  M: { width: 9, path: 'M0 10V0L4.5 6.4L9 0V10' },
  N: { width: 7.5, path: 'M0 10V0L7.5 10V0' },
  O: { width: 10, path: 'M5 0a5 5 0 1 0 .001 0z' },
  P: { width: 6.4, path: 'M0 10V0H3.4a3 3 0 0 1 0 6H0' },
  R: { width: 6.8, path: 'M0 10V0H3.6a3 3 0 0 1 0 6H0M3 6L6.8 10' },
  S: {
    width: 6.8,
    path: 'M6.2 1.6C5.6 .6 4.6 0 3.4 0C1.7 0 .5 1 .5 2.6C.5 5.9 6.8 4.2 6.8 7.4C6.8 9 5.4 10 3.6 10C2 10 .8 9.3 0 8.1',
  },
  T: { width: 8, path: 'M0 0H8M4 0V10' },
  Y: { width: 8, path: 'M0 0L4 5.2L8 0M4 5.2V10' },
}
