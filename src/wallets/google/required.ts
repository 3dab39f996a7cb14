import type { GoogleKind } from '../../core/contract/definition.ts'
import type { GoogleResource } from './resource.ts'

/** Fields without which Google refuses a class or an object. Logos are not here: under plain http they are left out. */
const classFields: Record<GoogleKind, string[]> = {
  generic: [],
  eventTicket: ['issuerName', 'reviewStatus', 'eventName'],
  loyalty: ['issuerName', 'reviewStatus', 'programName'],
  offer: ['issuerName', 'reviewStatus', 'title', 'provider', 'redemptionChannel'],
  giftCard: ['issuerName', 'reviewStatus'],
  flight: ['issuerName', 'reviewStatus', 'origin', 'destination', 'flightHeader', 'localScheduledDepartureDateTime'],
  transit: ['issuerName', 'reviewStatus', 'transitType'],
}

const objectFields: Record<GoogleKind, string[]> = {
  generic: ['cardTitle', 'header'],
  eventTicket: [],
  loyalty: [],
  offer: [],
  giftCard: ['cardNumber'],
  flight: ['passengerName', 'reservationInfo'],
  transit: ['tripType'],
}

/** The required fields that are missing, as the definition would name them: `google.class.origin`. */
export function missingFields(kind: GoogleKind, classResource: GoogleResource, object: GoogleResource): string[] {
  return [
    ...classFields[kind].filter((field) => isMissing(classResource[field])).map((field) => `google.class.${field}`),
    ...objectFields[kind].filter((field) => isMissing(object[field])).map((field) => `google.object.${field}`),
  ]
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}
