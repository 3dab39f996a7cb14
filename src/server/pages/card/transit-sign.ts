interface Sign {
  name: string
  /** On a field of 24 by 24, for somebody who reads from the left. */
  path: string
}

/** Our own drawings, by the transit types of Apple. */
const signs = new Map<unknown, Sign>([
  [
    'PKTransitTypeAir',
    {
      name: 'Flight',
      path: 'M22 12c0-.9-1-1.5-2.5-1.5h-5L9 2H6.8l2.7 8.5H5L3 8H1.5l1.2 4-1.2 4H3l2-2.5h4.5L6.8 22H9l5.5-8.5h5c1.5 0 2.5-.6 2.5-1.5z',
    },
  ],
  [
    'PKTransitTypeTrain',
    {
      name: 'Train',
      path: 'M7 2h10a3 3 0 0 1 3 3v9a3 3 0 0 1-3 3l2 4h-2.4l-1-2H8.4l-1 2H5l2-4a3 3 0 0 1-3-3V5a3 3 0 0 1 3-3zM6.5 5v5h11V5zM7 12.5V15h2.5v-2.5zm7.5 0V15H17v-2.5z',
    },
  ],
  [
    'PKTransitTypeBus',
    {
      name: 'Bus',
      path: 'M5 3h14a2 2 0 0 1 2 2v12h-1v4h-3v-3H7v3H4v-4H3V5a2 2 0 0 1 2-2zm0 3v6h14V6zm1 7.5V16h2.5v-2.5zm9.5 0V16H18v-2.5z',
    },
  ],
  [
    'PKTransitTypeBoat',
    {
      name: 'Boat',
      path: 'M11 2h2v3h4v5l4 1.5L18.5 19h-13L3 11.5 7 10V5h4zM9 7v2.3l3-1.1 3 1.1V7zM2 20.5h20V22H2z',
    },
  ],
])

const ARROW: Sign = { name: 'To', path: 'M2 11h15l-4.5-4.5L14 5l7 7-7 7-1.5-1.5L17 13H2z' }

/** The sign between origin and destination; an arrow where the means of transport is none of these. */
export function transitSign(transitType: unknown): string {
  const { name, path } = signs.get(transitType) ?? ARROW
  return `<svg class="sign" viewBox="0 0 24 24" role="img" aria-label="${name}"><path fill-rule="evenodd" d="${path}"/></svg>`
}
