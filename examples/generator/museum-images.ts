import { linearGradient, svg, wordmark } from './svg.ts'

const ink = '#22313f'
const sand = '#f3e3c3'
const coral = '#e4572e'
const sea = '#2e86ab'

/** Waves, a globe, and a compass, for the membership of a museum of maps. */
export function museumImages() {
  return {
    icon: svg(114, 114, `<rect width="114" height="114" fill="${ink}"/>`, globe(57, 57, 40)),
    logo: svg(
      480,
      150,
      `<rect width="480" height="150" fill="${ink}"/>`,
      globe(64, 75, 46),
      wordmark('ATLAS', { x: 140, y: 52, height: 46, color: sand, weight: 8, gap: 16 }),
    ),
    primaryLogo: svg(378, 90, wordmark('ATLAS', { x: 10, y: 20, height: 50, color: '#ffffff', weight: 9, gap: 18 })),
    artwork: svg(
      1074,
      1344,
      `<defs>${linearGradient('deep', sea, ink, 90)}</defs><rect width="1074" height="1344" fill="url(#deep)"/>`,
      globe(537, 560, 330),
      ...[0, 1, 2, 3].map((row) => wave(940 + row * 90, row)),
    ),
    hero: svg(
      1032,
      336,
      `<defs>${linearGradient('deep', sea, ink)}</defs><rect width="1032" height="336" fill="url(#deep)"/>`,
      globe(760, 168, 130),
      `<g transform="translate(0 -760)">${wave(1000, 0)}${wave(1050, 1)}</g>`,
    ),
  }
}

/** A globe with three meridians, two parallels, and the needle of a compass. */
function globe(x: number, y: number, radius: number): string {
  const width = radius / 14
  const line = (path: string) => `<path d="${path}" fill="none" stroke="${ink}" stroke-width="${width}"/>`
  const parallel = (dy: number) => {
    const half = Math.sqrt(radius ** 2 - dy ** 2)
    return line(`M${-half} ${dy}H${half}`)
  }
  return (
    `<g transform="translate(${x} ${y})"><circle r="${radius}" fill="${sand}"/>` +
    `<ellipse rx="${radius * 0.45}" ry="${radius}" fill="none" stroke="${ink}" stroke-width="${width}"/>` +
    line(`M0 ${-radius}V${radius}`) +
    [-0.45, 0, 0.45].map((part) => parallel(part * radius)).join('') +
    `<path transform="rotate(32)" d="M0 ${-radius * 0.8}L${radius * 0.18} 0H${-radius * 0.18}z" fill="${coral}"/></g>`
  )
}

function wave(y: number, row: number): string {
  const arcs = Array.from({ length: 9 }, () => 'q75 -70 150 0').join('')
  return `<path d="M${-150 + row * 60} ${y}${arcs}" fill="none" stroke="${sand}" stroke-width="14" opacity="${0.55 - row * 0.1}"/>`
}
