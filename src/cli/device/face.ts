import type { CardJson } from '../card/picture.ts'

/** What a phone shows of a pass, read off what its platform sent: in the terms of the neutral card that it came from. */
export interface Face {
  /** Serial number or object id. */
  id: string
  card: CardJson
  /** What stands across a pass that is over. */
  stamp: string | null
}

/** What neither platform tells a phone, or no phone shows as such. */
export const notShown = { images: {}, locations: [], relevantDate: null, apple: {}, google: {} }
