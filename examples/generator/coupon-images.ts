import { svg, wordmark } from './svg.ts'

const cream = '#fbf1de'
const saffron = '#f3b540'
const paprika = '#c8452d'
const aubergine = '#4a1f3d'
const mint = '#8fc0a6'
const turmeric = '#e28f1f'

/** Tiles of quarter and half circles, as on the counter of a spice market. */
export function couponImages() {
  return {
    icon: svg(
      114,
      114,
      tile(0, 0, 57, 'quarter0', paprika, saffron),
      tile(57, 0, 57, 'dot', aubergine, cream),
      tile(0, 57, 57, 'dot', saffron, paprika),
      tile(57, 57, 57, 'quarter2', mint, aubergine),
    ),
    logo: svg(
      480,
      150,
      `<rect width="480" height="150" fill="${cream}"/>`,
      tile(10, 27, 48, 'quarter0', paprika, saffron),
      tile(58, 27, 48, 'dot', aubergine, cream),
      tile(10, 75, 48, 'dot', saffron, paprika),
      tile(58, 75, 48, 'quarter2', mint, aubergine),
      wordmark('SAFFRON', { x: 140, y: 31, height: 36, color: aubergine, weight: 6.5, gap: 12 }),
      wordmark('MARKET', { x: 140, y: 86, height: 36, color: paprika, weight: 6.5, gap: 12 }),
    ),
    strip: svg(1125, 432, `<rect width="1125" height="432" fill="${saffron}"/>`, tiles(477, 0, 108, rightEdge)),
    hero: svg(1032, 336, `<rect width="1032" height="336" fill="${saffron}"/>`, tiles(0, -4, 86, wall)),
  }
}

type Shape = 'quarter0' | 'quarter1' | 'quarter2' | 'quarter3' | 'half0' | 'half1' | 'dot' | 'leaf0' | 'leaf1' | 'disc'

const ground: Record<string, [background: string, foreground: string]> = {
  a: [paprika, cream],
  b: [aubergine, saffron],
  c: [mint, aubergine],
  d: [cream, paprika],
  e: [turmeric, cream],
  f: [saffron, paprika],
  g: [paprika, aubergine],
  h: [cream, mint],
  i: [aubergine, mint],
  j: [saffron, turmeric],
}

const shapes: Record<string, Shape> = {
  '0': 'quarter0',
  '1': 'quarter1',
  '2': 'quarter2',
  '3': 'quarter3',
  n: 'half0',
  u: 'half1',
  o: 'dot',
  '/': 'leaf0',
  '\\': 'leaf1',
  '*': 'disc',
}

/** A tile is two characters, its colours and its shape; two spaces leave the ground bare. */
const rightEdge = ['    j2b0a/d*', '  f1c3eobnh2', '    goi\\a1b/', '  j0d*c2euao']
const wall = [
  'a0b/d*c3eogni\\h2b0a/f1co',
  'c2eoa1b*f/d3i0cna\\eoh3b/',
  'd*i0h/gob2a3c*e1d/b0a*f2',
  'b/a*c1d0eoi/a2buc*g3h\\i1',
]

function tiles(left: number, top: number, size: number, rows: string[]): string {
  const drawn = rows.flatMap((row, rowIndex) =>
    [...row.matchAll(/(.)(.)/g)].map(([, colors, shape], column) => {
      const pair = ground[colors!]
      return pair ? tile(left + column * size, top + rowIndex * size, size, shapes[shape!]!, ...pair) : ''
    }),
  )
  return drawn.join('')
}

function tile(x: number, y: number, size: number, shape: Shape, background: string, foreground: string): string {
  return (
    `<g transform="translate(${x} ${y}) scale(${size / 100})"><rect width="100.5" height="100.5" fill="${background}"/>` +
    `<g fill="${foreground}">${outline[shape]}</g></g>`
  )
}

const outline: Record<Shape, string> = {
  quarter0: '<path d="M0 0H100A100 100 0 0 1 0 100z"/>',
  quarter1: '<path d="M100 0V100A100 100 0 0 1 0 0z"/>',
  quarter2: '<path d="M100 100H0A100 100 0 0 1 100 0z"/>',
  quarter3: '<path d="M0 100V0A100 100 0 0 1 100 100z"/>',
  half0: '<path d="M0 50A50 50 0 0 1 100 50zM0 100A50 50 0 0 1 100 100z"/>',
  half1: '<path d="M0 0A50 50 0 0 0 100 0zM0 50A50 50 0 0 0 100 50z"/>',
  dot: '<circle cx="50" cy="50" r="30"/>',
  leaf0: '<path d="M0 100A100 100 0 0 1 100 0A100 100 0 0 1 0 100z"/>',
  leaf1: '<path d="M0 0A100 100 0 0 1 100 100A100 100 0 0 1 0 0z"/>',
  disc: '<circle cx="50" cy="50" r="50"/>',
}
