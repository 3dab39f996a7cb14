import { linearGradient, svg, wordmark } from './svg.ts'

const ink = '#10313f'
const sky = '#5fc4d6'
const sand = '#f6e7c8'

/** A plane over the coast. */
export function boardingPassImages() {
  return {
    icon: svg(114, 114, `<rect width="114" height="114" fill="${ink}"/>`, plane(57, 57, 0.9)),
    logo: svg(
      480,
      150,
      `<rect width="480" height="150" fill="${ink}"/>`,
      plane(66, 75, 0.9),
      wordmark('GANNET', { x: 140, y: 56, height: 38, color: sand, weight: 6, gap: 12 }),
    ),
    hero: svg(
      1032,
      336,
      `<defs>${linearGradient('sky', sky, sand, 90)}</defs><rect width="1032" height="336" fill="url(#sky)"/>`,
      `<path d="M0 250C180 190 330 300 520 240S880 190 1032 250V336H0z" fill="${ink}"/>`,
      plane(516, 120, 1.9),
    ),
  }
}

function plane(x: number, y: number, scale: number): string {
  return (
    `<g transform="translate(${x} ${y}) scale(${scale}) rotate(-20)" fill="${sand}">` +
    `<path d="M-46 -5L36 -5C50 -5 50 5 36 5L-46 5z"/><path d="M-8 0L-26 -42H-14L22 0L-14 42H-26z"/><path d="M-40 0L-50 -20H-42L-26 0L-42 20H-50z"/></g>`
  )
}
