import { linearGradient, svg, wordmark } from './svg.ts'

const night = '#2b1055'
const sun = '#ffb347'
const rose = '#ff6f91'

/** Hills under a low sun, for a festival in the open air. */
export function festivalImages() {
  return {
    icon: svg(114, 114, `<rect width="114" height="114" fill="${night}"/>`, rising(57, 74, 34)),
    logo: svg(
      480,
      150,
      `<rect width="480" height="150" fill="${night}"/>`,
      rising(66, 92, 42),
      wordmark('NORTE', { x: 140, y: 52, height: 46, color: '#ffffff', weight: 8, gap: 15 }),
    ),
    primaryLogo: svg(378, 90, wordmark('NORTE', { x: 10, y: 20, height: 50, color: '#ffffff', weight: 9, gap: 17 })),
    strip: scene(1125, 294),
    artwork: scene(1074, 1344),
    hero: scene(1032, 336),
  }
}

function scene(width: number, height: number): string {
  const horizon = height * 0.62
  const hill = (start: number, lift: number, color: string) =>
    `<path d="M0 ${height}V${horizon + start}Q${width * 0.3} ${horizon - lift} ${width * 0.55} ${horizon + start}T${width} ${horizon}V${height}z" fill="${color}"/>`
  return svg(
    width,
    height,
    `<defs>${linearGradient('dusk', night, rose, 90)}</defs><rect width="${width}" height="${height}" fill="url(#dusk)"/>`,
    rising(width * 0.68, horizon, Math.min(width, height) * 0.28),
    hill(height * 0.06, height * 0.1, '#5b2a86'),
    hill(height * 0.16, height * 0.02, '#3a1560'),
  )
}

/** Half of a sun with rays. */
function rising(x: number, y: number, radius: number): string {
  const rays = Array.from({ length: 7 }, (_, index) => {
    const angle = Math.PI * (index / 6)
    const at = (distance: number) => `${x - Math.cos(angle) * distance} ${y - Math.sin(angle) * distance}`
    return `M${at(radius * 1.15)}L${at(radius * 1.4)}`
  })
  return (
    `<path d="M${x - radius} ${y}a${radius} ${radius} 0 0 1 ${2 * radius} 0z" fill="${sun}"/>` +
    `<path d="${rays.join('')}" stroke="${sun}" stroke-width="${radius / 10}" stroke-linecap="round"/>`
  )
}
