import { linearGradient, svg, wordmark } from './svg.ts'

const navy = '#1b1d4d'

/** Speech bubbles of many voices, over a night sky. */
export function conferenceImages() {
  return {
    icon: svg(
      114,
      114,
      `<rect width="114" height="114" fill="${navy}"/>`,
      bubble({ x: 16, y: 20, width: 62, height: 50, radius: 17, color: '#ff7a66', tail: 'left' }),
      bubble({ x: 44, y: 44, width: 54, height: 42, radius: 15, color: '#37c8b5', tail: 'right' }),
      dots(58, 65, 13, 4.2, '#ffffff'),
    ),
    logo: svg(
      480,
      150,
      `<rect width="480" height="150" fill="${navy}"/>`,
      bubble({ x: 4, y: 36, width: 76, height: 62, radius: 20, color: '#ff7a66', tail: 'left' }),
      bubble({ x: 42, y: 66, width: 62, height: 48, radius: 17, color: '#37c8b5', tail: 'right' }),
      dots(57, 90, 16, 5, '#ffffff'),
      wordmark('POLYGLOT', { x: 130, y: 56, height: 40, color: '#ffffff', weight: 7, gap: 11 }),
    ),
    strip: svg(
      1125,
      294,
      `<defs>${linearGradient('sky', '#20225a', '#4a2c7a')}</defs><rect width="1125" height="294" fill="url(#sky)"/>`,
      // In right-to-left text, the name is above them.
      `<g opacity=".4">${voices(0, 0)}</g>`,
    ),
    hero: svg(
      1032,
      336,
      `<defs>${linearGradient('sky', '#20225a', '#4a2c7a')}</defs><rect width="1032" height="336" fill="url(#sky)"/>`,
      bubble({ x: 70, y: 96, width: 210, height: 130, radius: 44, color: '#6f63d9', tail: 'left', opacity: 0.75 }),
      star(175, 161, '#ffffff'),
      bubble({ x: 232, y: 176, width: 170, height: 96, radius: 38, color: '#ff9fb2', tail: 'right', opacity: 0.92 }),
      bars(284, 206, '#1b1d4d'),
      voices(-105, 22),
    ),
  }
}

/** The artwork of a poster ticket behind its texts: the voices, large. */
export function conferenceArtwork(): string {
  return svg(
    1074,
    1344,
    `<defs>${linearGradient('sky', '#20225a', '#7a3a86')}</defs><rect width="1074" height="1344" fill="url(#sky)"/>`,
    bubble({ x: -60, y: 520, width: 420, height: 270, radius: 88, color: '#6f63d9', tail: 'left', opacity: 0.6 }),
    `<g transform="translate(-990 210) scale(1.85)">${voices(0, 60)}</g>`,
  )
}

function voices(dx: number, dy: number): string {
  return [
    `<g transform="translate(${dx} ${dy})">`,
    bubble({ x: 520, y: 128, width: 150, height: 96, radius: 38, color: '#6f63d9', tail: 'left', opacity: 0.55 }),
    bubble({ x: 905, y: -46, width: 280, height: 150, radius: 52, color: '#6f63d9', tail: 'left', opacity: 0.7 }),
    bubble({ x: 640, y: 34, width: 218, height: 134, radius: 46, color: '#ff7a66', tail: 'left', opacity: 0.95 }),
    wave(690, 100, '#ffffff'),
    bubble({ x: 800, y: 112, width: 196, height: 116, radius: 42, color: '#37c8b5', tail: 'right', opacity: 0.94 }),
    dots(860, 170, 38, 11, '#ffffff'),
    bubble({ x: 972, y: 70, width: 128, height: 88, radius: 34, color: '#ffc15e', tail: 'left', opacity: 0.96 }),
    bars(1006, 98, '#1b1d4d'),
    bubble({ x: 958, y: 212, width: 190, height: 120, radius: 42, color: '#ff9fb2', tail: 'right', opacity: 0.9 }),
    star(1050, 258, '#1b1d4d'),
    '</g>',
  ].join('')
}

interface Bubble {
  x: number
  y: number
  width: number
  height: number
  radius: number
  color: string
  tail: 'left' | 'right'
  opacity?: number
}

function bubble({ x, y, width, height, radius, color, tail, opacity = 1 }: Bubble): string {
  const long = radius * 0.85
  const arc = (dx: number, dy: number) => `a${radius} ${radius} 0 0 1 ${dx} ${dy}`
  const bottom =
    tail === 'left'
      ? `H${x + radius + long}L${x + radius * 0.55} ${y + height + long}Q${x + radius} ${y + height + long * 0.3} ${x + radius} ${y + height}`
      : `Q${x + width - radius} ${y + height + long * 0.3} ${x + width - radius * 0.55} ${y + height + long}L${x + width - radius - long} ${y + height}H${x + radius}`
  return (
    `<path fill="${color}" fill-opacity="${opacity}" d="M${x + radius} ${y}H${x + width - radius}${arc(radius, radius)}` +
    `V${y + height - radius}${arc(-radius, radius)}${bottom}${arc(-radius, -radius)}V${y + radius}${arc(radius, -radius)}z"/>`
  )
}

function dots(x: number, y: number, step: number, radius: number, color: string): string {
  const dot = (index: number) => `<circle cx="${x + index * step}" cy="${y}" r="${radius}"/>`
  return `<g fill="${color}">${[0, 1, 2].map(dot).join('')}</g>`
}

function wave(x: number, y: number, color: string): string {
  return stroke(`M${x} ${y}q15 -30 30 0t30 0t30 0t30 0`, color, 11)
}

function bars(x: number, y: number, color: string): string {
  return stroke(`M${x} ${y}h60M${x} ${y + 17}h40M${x} ${y + 34}h52`, color, 8)
}

function star(x: number, y: number, color: string): string {
  return stroke(`M${x} ${y - 24}v48M${x - 21} ${y - 12}l42 24M${x - 21} ${y + 12}l42 -24`, color, 9)
}

function stroke(path: string, color: string, width: number): string {
  return `<path fill="none" stroke="${color}" stroke-width="${width}" stroke-linecap="round" stroke-linejoin="round" d="${path}"/>`
}
