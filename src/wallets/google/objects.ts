import { barcodeFormats, googleFormatOf } from '../../core/barcode-formats.ts'
import type { GoogleKind } from '../../core/contract/schemas/definition.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Card } from '../../core/rules/display/card.ts'
import { type SemanticTags, semanticTags } from '../../core/rules/display/flight.ts'
import { MAX_GOOGLE_MODULES } from '../../core/rules/display/google-view.ts'
import { isAbsoluteLink } from '../../core/rules/template/link-schemes.ts'
import type { WalletPass } from '../wallet.ts'
import {
  backgroundOf,
  compact,
  dateTimeOf,
  firstText,
  image,
  isEmpty,
  localized,
  localizedKeyOf,
  nameOf,
  type RecordType,
  recordTypeOf,
  textModules,
  titleField,
  typeOf,
} from './fields.ts'
import { nativeValue } from './native-values.ts'
import { applyOverrides } from './overrides.ts'
import { type GoogleIssuer, type GoogleResource, idOf, kindOf, placeOf } from './resource.ts'
import { buildTranslated } from './translate.ts'

export function buildObject(issuer: GoogleIssuer, pass: WalletPass, at: Date): GoogleResource {
  const { card, translations = [] } = pass
  const type = typeOf(kindOf(card), 'Object')
  const build = (shown: Card) => ownObject(issuer, { ...pass, card: shown }, at)
  const object = buildTranslated(card, translations, { type, build })
  return applyOverrides(object, card.google.object, type)
}

function ownObject(issuer: GoogleIssuer, pass: WalletPass, at: Date): GoogleResource {
  const { card } = pass
  const { objectSuffix, classSuffix } = placeOf(pass)
  const links = linksOf(card)
  return {
    id: idOf(issuer, objectSuffix),
    classId: idOf(issuer, classSuffix),
    state: stateOf(card, at),
    ...compact({
      barcode: barcode(card),
      heroImage: image(issuer, card, 'hero', 'strip'),
      imageModulesData: portrait(issuer, card),
      textModulesData: textModules(card, links),
      linksModuleData: links.length > 0 ? { uris: links.slice(0, MAX_GOOGLE_MODULES) } : undefined,
      merchantLocations: merchantLocations(card),
      validTimeInterval: card.expiresAt ? { end: { date: card.expiresAt.toISOString() } } : undefined,
      smartTapRedemptionValue: firstText(card.nfc?.message),
      linkedObjectIds: pass.linkedObjectIds,
      groupingInfo: pass.groupId === undefined ? undefined : { groupingId: pass.groupId },
      ...kindFields[kindOf(card)](pass, issuer),
    }),
  }
}

/** Returns the holder's own thumbnail as an image module for the details, because Google has no other place for it. */
function portrait(issuer: GoogleIssuer, card: Card) {
  const mainImage = card.ownImages?.includes('thumbnail') && image(issuer, card, 'thumbnail')
  return mainImage ? [{ id: 'portrait', mainImage }] : undefined
}

/**
 * Returns the state of the object. Google itself expires passes only with a delay: without a state, a pass would stay
 * valid for up to a day after its expiry.
 */
function stateOf(card: Card, at: Date): 'ACTIVE' | 'EXPIRED' | 'INACTIVE' {
  if (card.voided) return 'INACTIVE'
  return card.expiresAt && card.expiresAt <= at ? 'EXPIRED' : 'ACTIVE'
}

// Objects of loyalty cards, offers, and gift cards have no color. Their color is in the class.
const kindFields: Record<GoogleKind, (pass: WalletPass, issuer: GoogleIssuer) => Record<string, unknown>> = {
  generic: ({ card }, issuer) => {
    const title = titleField(card)
    const subheader = firstText(title?.label)
    return {
      cardTitle: localized(firstText(card.logoText) ?? nameOf(card)),
      header: localized(firstText(title?.value, card.description) ?? nameOf(card)),
      subheader: subheader && localized(subheader),
      logo: image(issuer, card, 'icon', 'logo'),
      hexBackgroundColor: backgroundOf(card),
    }
  },
  eventTicket: ({ card }) => ({ hexBackgroundColor: backgroundOf(card), seatInfo: seatInfo(card) }),
  loyalty: ({ card }) => nativeValue(card),
  offer: () => ({}),
  giftCard: ({ id, card }) => ({ cardNumber: firstText(card.barcode.message) ?? id, ...nativeValue(card) }),
  flight: ({ card }) => ({ hexBackgroundColor: backgroundOf(card), ...(card.flight && passenger(card)) }),
  transit: ({ card }) => ({
    tripType: 'ONE_WAY',
    hexBackgroundColor: backgroundOf(card),
    passengerNames: passengerName(semanticTags(card.apple)),
    purchaseDetails: card.trip?.confirmation && { confirmationCode: card.trip.confirmation },
    ...journey(card),
  }),
}

function seatInfo({ event }: Card) {
  const entries = Object.entries(event?.seat ?? {}).map(([name, text]) => [name, localized(text)] as const)
  return entries.length > 0 ? Object.fromEntries(entries) : undefined
}

/** Returns the passenger and the seat. Google requires a name and a reservation; the reservation can be empty. */
function passenger(card: Card): Record<string, unknown> {
  const tags = semanticTags(card.apple)
  const seating = compact({
    seatNumber: seatOf(tags),
    boardingGroup: tags.text('boardingGroup', 'boardingZone'),
    sequenceNumber: tags.text('boardingSequenceNumber'),
  })
  return {
    passengerName: passengerName(tags) ?? firstText(card.holder) ?? nameOf(card),
    reservationInfo: compact({ confirmationCode: tags.text('confirmationNumber') }),
    boardingAndSeatingInfo: isEmpty(seating) ? undefined : seating,
  }
}

function passengerName(tags: SemanticTags): string | undefined {
  const name = tags.within('passengerName')
  return firstText([name.text('givenName'), name.text('familyName')].filter(Boolean).join(' '))
}

function seatOf(tags: SemanticTags): string | undefined {
  const seat = tags.within('seats')
  return firstText([seat.text('seatRow'), seat.text('seatNumber')].filter(Boolean).join(''))
}

/** Returns the trip. Without facts of a trip, the first two primary fields are the origin and the destination. */
function journey(card: Card): Record<string, unknown> {
  const { trip } = card
  const [from, to] = card.fields.primary.map(({ value }) => firstText(value))
  const origin = trip?.from?.name ?? trip?.from?.city ?? trip?.from?.code ?? from
  const destination = trip?.to?.name ?? trip?.to?.city ?? trip?.to?.code ?? to
  const tags = semanticTags(card.apple)
  const seat = seatOf(tags)
  const departure =
    dateTimeOf(trip?.departsAt) ??
    dateTimeOf(card.relevantDate) ??
    dateTimeOf(tags.text('currentDepartureDate', 'originalDepartureDate'))
  // Omit the leg if the overrides contain a list of legs, because Google accepts only one of the two.
  const ownLegs = card.google.object?.ticketLegs !== undefined
  const hasLeg = !ownLegs && origin !== undefined && destination !== undefined
  return {
    ticketLeg: hasLeg
      ? compact({
          ...(trip?.from?.code &&
            trip.to?.code && { originStationCode: trip.from.code, destinationStationCode: trip.to.code }),
          originName: localized(origin),
          destinationName: localized(destination),
          departureDateTime: departure,
          arrivalDateTime: dateTimeOf(tags.text('currentArrivalDate', 'originalArrivalDate')),
          transitOperatorName: trip?.carrier?.name && localized(trip.carrier.name),
          platform: tags.text('departurePlatform'),
          carriage: tags.text('carNumber'),
          ticketSeat: seat && { seat },
        })
      : undefined,
    // Google requires an expiry, a departure, or a validity. Without the first two, set a validity that started long
    // ago.
    ...(!card.expiresAt &&
      !(hasLeg && departure) && { validTimeInterval: { start: { date: '2000-01-01T00:00:00Z' } } }),
  }
}

function barcode({ barcode: { format, message, altText } }: Card) {
  if (message === '') return undefined
  const { google: type } = barcodeFormats[googleFormatOf(format, message)]
  return compact({ type, value: message, alternateText: firstText(altText) })
}

/** Returns the links that have a scheme, because Google would reject an object that contains any other link. */
function linksOf(card: Card) {
  return card.links
    .map(({ label, url }, index) => ({ id: `link-${index + 1}`, uri: url, description: firstText(label) ?? url }))
    .filter(({ uri }) => isAbsoluteLink(uri))
}

function merchantLocations({ locations }: Card) {
  return locations.length > 0 ? locations.map(({ latitude, longitude }) => ({ latitude, longitude })) : undefined
}

/** The optional keys that this server sets in objects, including nested keys. */
interface ManagedKeys {
  [key: string]: ManagedKeys
}

const always: ManagedKeys = {
  barcode: { alternateText: {} },
  heroImage: {},
  imageModulesData: {},
  textModulesData: {},
  linksModuleData: {},
  merchantLocations: {},
  validTimeInterval: { start: {}, end: {} },
  smartTapRedemptionValue: {},
  groupingInfo: {},
}

const ofKind: Record<GoogleKind, ManagedKeys> = {
  generic: { subheader: {}, logo: {}, hexBackgroundColor: {} },
  eventTicket: { hexBackgroundColor: {}, seatInfo: { section: {}, row: {}, seat: {}, gate: {} } },
  // `balance` has exactly one of these keys.
  loyalty: { loyaltyPoints: { label: {}, balance: { int: {}, double: {}, string: {}, money: {} } } },
  offer: {},
  giftCard: { balance: {} },
  flight: { hexBackgroundColor: {}, reservationInfo: { confirmationCode: {} }, boardingAndSeatingInfo: {} },
  transit: {
    hexBackgroundColor: {},
    passengerNames: {},
    purchaseDetails: { confirmationCode: {} },
    ticketLeg: {
      originStationCode: {},
      destinationStationCode: {},
      departureDateTime: {},
      arrivalDateTime: {},
      transitOperatorName: {},
      platform: {},
      carriage: {},
      ticketSeat: {},
    },
    ticketLegs: {},
  },
}

export type Overrides = Record<string, unknown>

/**
 * Returns the object with `null` for omitted keys that earlier versions can have set, because a PATCH keeps all keys
 * that are not in its body. (A PUT would delete the messages of the object.)
 */
export function withCleared(kind: GoogleKind, object: GoogleResource, retired: Overrides[] = []): Overrides {
  const keys = retired.map(keysOf).reduce(joined, joined(always, ofKind[kind]))
  const filled = fill(object, Object.fromEntries(Object.entries(keys).filter(([key]) => !kept.has(key))))
  return withoutTranslations(filled, typeOf(kind, 'Object'))
}

/** Sets missing translations to `null` at any depth, but not in lists, which a PATCH replaces as a whole. */
function withoutTranslations(value: Record<string, unknown>, type: RecordType | undefined): Record<string, unknown> {
  if (isJsonObject(value.defaultValue)) return { translatedValues: null, ...value }
  const cleared = new Map(Object.entries(value))
  for (const [key, inner] of Object.entries(value)) {
    const localizedKey = localizedKeyOf(key)
    if (isJsonObject(inner)) cleared.set(key, withoutTranslations(inner, recordTypeOf(type?.fields.get(key))))
    else if (type?.fields.has(localizedKey) && !(localizedKey in value)) cleared.set(localizedKey, null)
  }
  return Object.fromEntries(cleared)
}

/** The keys that are never cleared: they identify the object, are required, or are added by Google or notifications. */
const kept = new Set(['id', 'classId', 'state', 'messages', 'kind', 'version'])

export function keysOf(overrides: Overrides): ManagedKeys {
  // Ignore `__proto__`: JSON can contain this key, but overrides omit it.
  const entries = Object.entries(overrides).filter(([key]) => key !== '__proto__')
  return Object.fromEntries(entries.map(([key, value]) => [key, isJsonObject(value) ? keysOf(value) : {}]))
}

export function joined(some: ManagedKeys, others: ManagedKeys): ManagedKeys {
  const all = new Map(Object.entries(some))
  for (const [key, inner] of Object.entries(others)) all.set(key, joined(all.get(key) ?? {}, inner))
  return Object.fromEntries(all)
}

function fill(value: Record<string, unknown>, keys: ManagedKeys): Record<string, unknown> {
  const cleared = Object.entries(keys).map(([key, inner]) => {
    const current = value[key] ?? null
    return [key, isJsonObject(current) ? fill(current, inner) : current]
  })
  return { ...value, ...Object.fromEntries(cleared) }
}
