import { linearGradient, svg } from './svg.ts'

const green = '#1d3b34'
const cream = '#f7ecdc'
const caramel = '#e2ab6e'

/** A cup seen from above, with beans and leaves around it. */
export function loyaltyImages() {
  return {
    icon: svg(114, 114, `<rect width="114" height="114" fill="${green}"/>`, mark(57, 57, 1.05)),
    // For members without a photo, which otherwise replaces it.
    logo: svg(150, 150, `<rect width="150" height="150" fill="${green}"/>`, mark(75, 75, 1.35)),
    strip: strip(0),
    'strip-1': strip(1),
    'strip-2': strip(2),
    'strip-3': strip(3),
    'strip-4': strip(4),
  }
}

export function coffeeCardImages() {
  const { icon, logo } = loyaltyImages()
  return { icon, logo, strip: strip(0, 0) }
}

/** Members as their photos show them. */
export function loyaltyPhotos() {
  return { 1: portrait('#e2ab6e', '#5c3621'), 2: portrait('#7fb69a', '#17312b'), 3: portrait('#f7ecdc', '#8a5a36') }
}

function portrait(behind: string, person: string): string {
  return svg(
    270,
    270,
    `<rect width="270" height="270" fill="${behind}"/><circle cx="135" cy="108" r="52" fill="${person}"/>`,
    `<path d="M30 270C30 205 76 176 135 176C194 176 240 205 240 270z" fill="${person}"/>`,
  )
}

/**
 * Draws the card of five cups with the given number of stamps. The fifth cup is free. Google Wallet crops a little at
 * the top and bottom.
 */
function strip(stamps: number, size = 5): string {
  const places = Array.from({ length: size }, (_, index) => {
    const [x, y] = [77 + index * 78, 82]
    const mark = index < stamps ? `<circle cx="${x}" cy="${y}" r="27" fill="${caramel}"/>${bean(x, y, 24, 0.8)}` : ''
    return `<circle cx="${x}" cy="${y}" r="29" fill="none" stroke="${cream}" stroke-width="4"/>${mark}`
  })
  return svg(
    1125,
    432,
    `<defs>${linearGradient('leaf', '#17312b', '#3c6a58', 12)}</defs><rect width="1125" height="432" fill="url(#leaf)"/>`,
    scatter(),
    cup(868, 222, 1),
    ...places,
  )
}

/** A bean and a leaf side by side. */
function mark(x: number, y: number, scale: number): string {
  return (
    `<g transform="translate(${x} ${y}) scale(${scale})">` +
    `<g transform="translate(-16 5) rotate(-24)"><ellipse rx="21" ry="33" fill="${caramel}"/>` +
    `<path d="M0 -33C-11 -12 11 10 0 33" fill="none" stroke="${green}" stroke-width="5"/></g>` +
    `<g transform="translate(24 -4) rotate(28)"><path d="M0 39C-25 17 -22 -18 0 -39C22 -18 25 17 0 39z" fill="#7fb69a" stroke="${green}" stroke-width="6"/>` +
    `<path d="M0 34V-18M0 15L10 5M0 1L-9 -8" fill="none" stroke="${green}" stroke-width="4" stroke-linecap="round"/></g></g>`
  )
}

function cup(x: number, y: number, scale: number): string {
  const chevrons = [-62, -34, -6, 22, 50].map((top, index) => {
    const wide = [30, 46, 54, 48, 34][index]!
    return `<path d="M0 ${top + 26}C${wide * 0.5} ${top + 22} ${wide} ${top + 6} ${wide} ${top - 14}C${wide * 0.6} ${top} ${wide * 0.25} ${top + 4} 0 ${top + 8}C${-wide * 0.25} ${top + 4} ${-wide * 0.6} ${top} ${-wide} ${top - 14}C${-wide} ${top + 6} ${-wide * 0.5} ${top + 22} 0 ${top + 26}z"/>`
  })
  return (
    `<g transform="translate(${x} ${y}) scale(${scale})">` +
    `<circle cx="10" cy="14" r="192" fill="#0f231e" fill-opacity=".35"/><circle r="190" fill="${cream}"/>` +
    `<circle r="172" fill="none" stroke="${caramel}" stroke-width="4"/>` +
    `<g transform="rotate(-32)"><rect x="112" y="-19" width="70" height="38" rx="19" fill="#e7d6bd"/>` +
    `<rect x="112" y="-19" width="70" height="38" rx="19" fill="none" stroke="#cdb792" stroke-width="3"/></g>` +
    `<circle cx="5" cy="8" r="133" fill="#cdb792" fill-opacity=".6"/><circle r="130" fill="#fffaf2"/>` +
    `<circle r="113" fill="#5c3621"/><circle r="103" fill="#7a4a2c"/>` +
    `<g fill="#f4dfc0" transform="rotate(18)">${chevrons.join('')}<path d="M0 -96C-15 -84 -15 -68 0 -58C15 -68 15 -84 0 -96z"/></g></g>`
  )
}

function scatter(): string {
  return [
    leaf(560, 66, 70, 1.5),
    leaf(500, 372, 125, 1.3),
    bean(614, 366, 35, 1.4),
    bean(606, 204, -40, 1.1),
    leaf(1110, 330, 20, 1.6),
    bean(1092, 62, 60, 1.4),
  ].join('')
}

function bean(x: number, y: number, angle: number, scale: number): string {
  return (
    `<g transform="translate(${x} ${y}) rotate(${angle}) scale(${scale})"><ellipse rx="17" ry="26" fill="#8a5a36"/>` +
    `<path d="M0 -25C-8 -9 8 8 0 25" fill="none" stroke="#4a2b19" stroke-width="3.5" stroke-linecap="round"/></g>`
  )
}

function leaf(x: number, y: number, angle: number, scale: number): string {
  return (
    `<g transform="translate(${x} ${y}) rotate(${angle}) scale(${scale})"><path d="M0 44C-24 20 -22 -20 0 -44C22 -20 24 20 0 44z" fill="#6ba287" fill-opacity=".8"/>` +
    `<path d="M0 42V-30M0 22L12 10M0 22L-12 10M0 2L12 -10M0 2L-12 -10" fill="none" stroke="#2b5546" stroke-width="3" stroke-linecap="round"/></g>`
  )
}
