import type { GoogleKind } from '../../core/contract/schemas/definition.ts'
import type { Card } from '../../core/rules/display/card.ts'
import type { Flight } from '../../core/rules/display/flight.ts'
import type { WalletPass } from '../wallet.ts'
import {
  backgroundOf,
  compact,
  dateTimeOf,
  firstText,
  image,
  isEmpty,
  localized,
  nameOf,
  templateInfo,
  typeOf,
} from './fields.ts'
import { applyOverrides } from './overrides.ts'
import { classSuffixOf, type GoogleIssuer, type GoogleResource, idOf, kindOf } from './resource.ts'
import { buildTranslated } from './translate.ts'

export type ClassContent = Pick<
  WalletPass,
  'templateId' | 'templateVersion' | 'templateCard' | 'templateTranslations' | 'classDigest'
>

/** Builds a class, which several passes share. It must not contain values of a holder. */
export function buildClass(issuer: GoogleIssuer, content: ClassContent) {
  const { templateCard: card, templateTranslations = [] } = content
  const type = typeOf(kindOf(card), 'Class')
  const build = (shown: Card) => ownClass(issuer, content, shown)
  const ofClass = buildTranslated(card, templateTranslations, { type, build })
  return applyOverrides(ofClass, card.google.class, type)
}

function ownClass(issuer: GoogleIssuer, content: ClassContent, card: Card): GoogleResource {
  const kind = kindOf(card)
  return {
    id: idOf(issuer, classSuffixOf(content, kind)),
    ...compact({
      callbackOptions: callbackOptions(issuer),
      ...(card.nfc && { enableSmartTap: true, redemptionIssuers: [issuer.issuerId] }),
      // Request a review: Google must approve classes of these kinds before it shows them, also after each update.
      ...(kind !== 'generic' && { issuerName: nameOf(card), reviewStatus: 'UNDER_REVIEW' }),
      ...kindFields[kind](card, issuer),
    }),
  }
}

const kindFields: Record<GoogleKind, (card: Card, issuer: GoogleIssuer) => Record<string, unknown>> = {
  generic: (card) => ({ classTemplateInfo: templateInfo(card) }),
  eventTicket: (card, issuer) => ({
    eventName: localized(firstText(card.event?.name, card.description) ?? nameOf(card)),
    ...eventFields(card),
    logo: image(issuer, card, 'icon', 'logo'),
    classTemplateInfo: templateInfo(card),
  }),
  loyalty: (card, issuer) => ({
    programName: firstText(card.logoText, card.description) ?? nameOf(card),
    programLogo: image(issuer, card, 'icon', 'logo'),
    hexBackgroundColor: backgroundOf(card),
    classTemplateInfo: templateInfo(card),
  }),
  offer: (card, issuer) => ({
    title: firstText(card.description) ?? nameOf(card),
    provider: nameOf(card),
    redemptionChannel: 'BOTH',
    titleImage: image(issuer, card, 'icon', 'logo'),
    hexBackgroundColor: backgroundOf(card),
    classTemplateInfo: templateInfo(card),
  }),
  giftCard: (card, issuer) => ({
    merchantName: nameOf(card),
    programLogo: image(issuer, card, 'icon', 'logo'),
    hexBackgroundColor: backgroundOf(card),
    classTemplateInfo: templateInfo(card),
  }),
  // Without facts of a flight, the overrides of the definition must set the fields of the flight.
  flight: (card) => ({ ...(card.flight && flightFields(card.flight)), classTemplateInfo: templateInfo(card) }),
  transit: (card, issuer) => ({
    transitType: transitTypes.get(card.apple.transitType) ?? 'OTHER',
    logo: image(issuer, card, 'icon', 'logo'),
    classTemplateInfo: templateInfo(card),
  }),
}

/** Returns the fields of an event. Omits a venue without a name or an address, because Google requires both. */
function eventFields({ event }: Card) {
  const { name, address } = event?.venue ?? {}
  const dateTime = compact({
    doorsOpen: dateTimeOf(event?.doorsAt),
    start: dateTimeOf(event?.startsAt),
    end: dateTimeOf(event?.endsAt),
  })
  return {
    venue:
      name !== undefined && address !== undefined ? { name: localized(name), address: localized(address) } : undefined,
    dateTime: isEmpty(dateTime) ? undefined : dateTime,
  }
}

function flightFields({ carrier, number, origin, destination, departsAt, boardsAt, arrivesAt }: Flight) {
  const airport = ({ code, gate, terminal }: Flight['origin']) => compact({ airportIataCode: code, gate, terminal })
  return compact({
    flightHeader: { carrier: { carrierIataCode: carrier }, flightNumber: number },
    origin: airport(origin),
    destination: airport(destination),
    localScheduledDepartureDateTime: departsAt,
    localBoardingDateTime: boardsAt,
    localScheduledArrivalDateTime: arrivesAt,
  })
}

const transitTypes = new Map<unknown, string>([
  ['PKTransitTypeBoat', 'FERRY'],
  ['PKTransitTypeBus', 'BUS'],
  ['PKTransitTypeTrain', 'RAIL'],
])

function callbackOptions({ publicUrl }: GoogleIssuer) {
  return publicUrl.startsWith('https://') ? { url: `${publicUrl}/google/callbacks` } : undefined
}
