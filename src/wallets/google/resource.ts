import type { GoogleKind, PassType } from '../../core/contract/definition.ts'
import type { Card } from '../../core/rules/display/card.ts'

/** A class or an object as Google's REST interface takes it: plain JSON. */
export type GoogleResource = { id: string } & Record<string, unknown>

/** What every payload needs to know besides the pass. */
export interface GoogleIssuer {
  issuerId: string
  /**
   * Where the internet reaches the server, without a slash at the end. Google fetches images from there and refuses a
   * pass whose image it cannot get, so under anything but https payloads hold no images, required ones neither.
   */
  publicUrl: string
}

const kinds: Record<PassType, GoogleKind> = {
  generic: 'generic',
  eventTicket: 'eventTicket',
  storeCard: 'loyalty',
  coupon: 'offer',
  boardingPass: 'transit',
}

/** The kind of class and object that shows a card; the definition may choose another than its pass type has. */
export function kindOf(card: Card): GoogleKind {
  return card.google.kind ?? kinds[card.passType]
}

/** Ids are unique among classes of all kinds, so a template whose kind changes has a class of each. */
export function classIdOf(issuerId: string, templateId: string, kind: GoogleKind): string {
  return `${issuerId}.template-${templateId}-${kind}`
}

export function objectIdOf(issuerId: string, passId: string): string {
  return `${issuerId}.${passId}`
}
