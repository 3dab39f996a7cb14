import { DateTime } from 'luxon'
import { z } from 'zod'
import { type BarcodeFormat, barcodeFormatOf, formatsWithReadings } from '../../barcode-formats.ts'
import { Timestamp } from '../../contract/schemas/common.ts'
import type {
  Definition,
  FieldDefinition,
  FieldGroup,
  GoogleKind,
  ImageRole,
  PassType,
} from '../../contract/schemas/definition.ts'
import { fieldGroups, overridesOf } from '../../contract/schemas/definition.ts'
import { isJsonObject } from '../../json.ts'
import { balancePlaceholder } from '../balances/balances.ts'
import { zoneOf } from '../redemption/redemption-windows.ts'
import { isTimeZone, oneSpelling } from '../redemption/time-zones.ts'
import { languageOf, UNSAID_LANGUAGE } from '../template/definition-languages.ts'
import { ownImageRoles, resolveImages } from '../template/image-choice.ts'
import { isSafeLink } from '../template/link-schemes.ts'
import {
  fill,
  fillDeep,
  placeholdersDeep,
  placeholdersIn,
  SCAN_PAYLOAD,
  type Scope,
  type SystemVariable,
} from '../template/placeholder.ts'
import { requireFits } from '../template/rendered-size.ts'
import { type About, aboutOf, appleKeys, zoneOfTripTime } from './about.ts'
import { colorsOf } from './colors.ts'
import { type Flight, flightOf } from './flight.ts'
import { formatValue, type ValueLocale, type ValueType } from './format-value.ts'

/** The content of a pass, independent of any platform. Placeholders are filled, and all texts are well-formed. */
export interface Card extends About {
  passType: PassType
  /** Set if iOS 27 and later show the pass as a poster. Earlier versions show the style of the pass type. */
  isPoster?: true
  /** The language of the texts (BCP 47). Omitted if the definition names no languages. */
  language?: string
  organizationName: string
  description: string
  logoText: string | null
  colors: { background: string | null; foreground: string | null; label: string | null }
  /** Image IDs by role. */
  images: Partial<Record<ImageRole, string>>
  /** The roles whose image can differ between passes. All passes of a version share the images of the other roles. */
  ownImages?: ImageRole[]
  fields: Record<FieldGroup, CardField[]>
  /** The first balance of the pass. */
  balance?: CardField
  barcode: { format: BarcodeFormat; message: string; altText: string | null }
  /** The content for NFC readers. Passes omit this content if its message is empty. */
  nfc?: NonNullable<Definition['nfc']>
  locations: { latitude: number; longitude: number; relevantText?: string }[]
  /** The filled text of `relevantDate`. Platforms omit a text that is not an ISO 8601 date or date-time. */
  relevantDate: string | null
  /** The time zone that determines when a day begins. UTC if undefined. */
  timeZone?: string | undefined
  /**
   * The time zone in which times are shown if `timeZone` is not set: the zone of the origin of the trip or, without
   * one, the zone of the redemption policy. An IANA name or an offset such as UTC+2. Default: UTC.
   */
  fallbackZone?: string
  links: { label: string; url: string }[]
  expiresAt: Date | null
  /** Whether the pass is void. Wallets still receive a void pass, and show that it is no longer valid. */
  voided: boolean
  holder?: string | undefined
  /** The flight of a boarding pass by air. Set only if all facts that Google requires are known. */
  flight?: Flight | undefined
  apple: Record<string, unknown>
  google: {
    kind?: GoogleKind
    points?: string
    rows?: string[][]
    linkedPasses?: string[]
    class?: Record<string, unknown>
    object?: Record<string, unknown>
  }
}

export interface CardField {
  key: string
  label: string
  /** The language of the label (BCP 47). Set if the label is from the wallet instead of the definition. */
  labelLanguage?: string
  /** The formatted value, in the language of the card. */
  value: string
  /** The type of the value, and its text before formatting. Set if the type is not plain text. */
  typed?: ValueType & { text: string }
  align?: NonNullable<FieldDefinition['align']>
  /** Set if the field shows the first balance as a number. */
  isBalance?: true
  /** The text that a phone shows when the value changes. `%@` stands for the new value. */
  changeMessage?: string
}

export interface CardFacts {
  passType: PassType
  definition: Definition
  /** The values of placeholders: of the variables of the pass, and of the system variables. */
  scope: Scope
  expiresAt: Date | null
  voided: boolean
}

/**
 * Renders a definition for one pass. Values of any type are inserted as text.
 * @throws ApiError PASS_ISSUING_FAILED if the result would be too large; checked before anything is rendered
 */
export function renderCard({ passType, definition, scope, expiresAt, voided }: CardFacts): Card {
  requireFits(definition, scope)
  const { design } = definition
  const filled = (template: string) => fill(template, scope)
  const optional = (template: string | undefined) => (template === undefined ? null : filled(template))
  const language = languageOf(definition)
  const about = aboutOf(definition, scope)
  const zones = zonesOf(definition, about, scope)
  const locale = localeOf({ ...zones, ...(language !== undefined && { language }) })
  const balance = balanceFieldOf(definition)
  const shown = (field: FieldDefinition, timeZone?: string) => ({
    key: field.key,
    label: filled(field.label),
    ...shownValue(field, scope, { locale, timeZone }),
  })
  const fields = Object.fromEntries(
    fieldGroups.map((group) => [
      group,
      design.fields[group].map((field) => ({
        ...shown(field, zoneOfTripTime(field.value, definition, about)),
        ...(field.align !== undefined && { align: field.align }),
        ...(balance && field.as === balance.as && field.value.trim() === balance.value && { isBalance: true }),
        ...(field.changeMessage !== undefined && { changeMessage: filled(field.changeMessage) }),
      })),
    ]),
  ) as Record<FieldGroup, CardField[]>
  return {
    passType,
    ...renderImages(definition, scope),
    organizationName: filled(design.organizationName),
    description: filled(design.description),
    logoText: optional(design.logoText),
    colors: colorsOf(design.colors, scope),
    fields,
    ...(balance && { balance: shown(balance) }),
    barcode: design.barcode
      ? {
          format: design.barcode.format,
          message: barcodeMessage(definition, scope),
          altText: optional(design.barcode.altText),
        }
      : { format: 'qr', message: '', altText: null },
    ...(definition.nfc && { nfc: { ...definition.nfc, message: filled(definition.nfc.message) } }),
    locations: design.locations.map((location) => ({
      latitude: location.latitude,
      longitude: location.longitude,
      ...(location.relevantText !== undefined && { relevantText: filled(location.relevantText) }),
    })),
    relevantDate: optional(design.relevantDate),
    ...zones,
    // Remove unsafe links: older passes can have some, because their links were not checked.
    links: design.links
      .map((link) => ({ label: filled(link.label), url: filled(link.url) }))
      .filter(({ url }) => isSafeLink(url)),
    expiresAt,
    voided,
    holder: scope.get('pass.label')?.toWellFormed(),
    flight: flightOf(definition, passType, scope),
    ...about,
    ...(definition.apple?.poster === true && isPosterType(passType) && { isPoster: true }),
    apple: appleKeys(about, posterKeys(passType, fillDeep(definition.apple ?? {}, scope))),
    google: fillDeep(definition.google ?? {}, scope),
  }
}

function balanceFieldOf({ balances = {} }: Definition): FieldDefinition | undefined {
  const [first] = Object.entries(balances)
  if (!first) return undefined
  const [name, { label, kind, currency }] = first
  const key = balancePlaceholder(name)
  const type =
    kind === 'currency' ? { as: kind, ...(currency !== undefined && { currency }) } : { as: 'number' as const }
  return { key, label, value: `{{${key}}}`, ...type }
}

export function renderImages(definition: Definition, scope: Scope): Pick<Card, 'language' | 'images' | 'ownImages'> {
  const language = languageOf(definition)
  const ownImages = ownImageRoles(definition)
  return {
    ...(language !== undefined && { language }),
    images: resolveImages(definition, scope),
    ...(ownImages.length > 0 && { ownImages }),
  }
}

/** Whether `apple.poster` adds a generic poster (iOS 27) to passes of this type. */
export function isPosterType(passType: PassType): boolean {
  return passType === 'generic' || passType === 'storeCard' || passType === 'coupon'
}

/** Replaces `poster` of an event ticket with Apple's keys for a poster. Older phones show the classic style. */
function posterKeys(passType: PassType, { poster, ...overrides }: Record<string, unknown>): Record<string, unknown> {
  if (poster !== true || passType !== 'eventTicket') return overrides
  return { preferredStyleSchemes: ['posterEventTicket', 'eventTicket'], ...overrides }
}

function shownValue(
  field: FieldDefinition,
  scope: Scope,
  { locale, timeZone }: { locale: ValueLocale; timeZone: string | undefined },
): Pick<CardField, 'value' | 'typed'> {
  const { as = 'text', style, currency } = field
  if (as === 'text') return { value: fill(field.value, scope) }
  const text = fill(field.value, scope).trim()
  const type = {
    as,
    ...(style && { style }),
    ...(currency !== undefined && { currency: fill(currency, scope) }),
    ...(timeZone !== undefined && { timeZone }),
  }
  return { value: formatValue(text, type, locale), typed: { ...type, text } }
}

export function localeOf(card: Pick<Card, 'language' | 'timeZone' | 'fallbackZone'>): ValueLocale {
  const { language = UNSAID_LANGUAGE, timeZone, fallbackZone } = card
  return { language, timeZone, fallbackZone }
}

/** Returns the time zone in which a pass shows times, or `undefined` for UTC. */
export function zoneOfPass(definition: Definition, scope: Scope): string | undefined {
  const { timeZone, fallbackZone } = zonesOf(definition, aboutOf(definition, scope), scope)
  return timeZone ?? fallbackZone
}

function zonesOf(
  { timeZone, redemption }: Definition,
  { trip }: About,
  scope: Scope,
): Pick<Card, 'timeZone' | 'fallbackZone'> {
  if (timeZone !== undefined) return { timeZone }
  if (trip?.from?.timeZone !== undefined) return { fallbackZone: trip.from.timeZone }
  const zone = zoneOf(redemption ?? null, (text) => fill(text, scope))
  const name = typeof zone === 'string' ? zone : zone.name
  // Omit UTC, because it is the default.
  if (name === 'UTC') return {}
  // A draft can have invalid values, so the zone can be invalid.
  const isZone = typeof zone === 'string' ? isTimeZone(zone) : zone.isValid
  return isZone ? { fallbackZone: name } : {}
}

export const DEFAULT_MESSAGE = '{{pass.scanCode}}'

/**
 * Returns the message of the barcode. For an imported pass, this is the message that the other provider used. For other
 * passes, it is the message of the design or, if the design has none, the scan code.
 */
export function barcodeMessage(definition: Definition, scope: Scope): string {
  return scope.get(SCAN_PAYLOAD) ?? fill(definition.design.barcode?.message ?? DEFAULT_MESSAGE, scope)
}

/**
 * Returns the first barcode format of a definition (of the design, then of the overrides) in which scanners can alter
 * messages. Returns `undefined` if there is none.
 */
export function readFormatOf({ design, apple, google }: Definition): BarcodeFormat | undefined {
  const overrides = [
    ...[apple?.barcodes].flat().map((barcode) => formatIn('apple', barcode, 'format')),
    formatIn('google', google?.object?.barcode, 'type'),
  ]
  return [design.barcode?.format, ...overrides].find((format) => format && formatsWithReadings.includes(format))
}

function formatIn(wallet: 'apple' | 'google', barcode: unknown, key: string): BarcodeFormat | undefined {
  return isJsonObject(barcode) ? barcodeFormatOf(wallet, String(barcode[key])) : undefined
}

/**
 * Whether the NFC message or the barcode of the design contains the scan code. If the design has no barcode, also
 * searches all other texts of the design and the overrides.
 */
export function showsScanCode(definition: Definition): boolean {
  const code: SystemVariable = 'pass.scanCode'
  const { design, nfc } = definition
  if (placeholdersIn(nfc?.message ?? '').includes(code)) return true
  if (design.barcode)
    return design.barcode.message === undefined || placeholdersIn(design.barcode.message).includes(code)
  return [...placeholdersDeep({ design, ...overridesOf(definition) })].some(({ name }) => name === code)
}

/** Returns the relevant time of a card: for a date, the start of the day. `null` if the text is invalid. */
export function relevantMoment({
  relevantDate,
  timeZone = 'UTC',
}: Pick<Card, 'relevantDate' | 'timeZone'>): Date | null {
  if (relevantDate === null) return null
  if (z.iso.date().safeParse(relevantDate).success) {
    return DateTime.fromISO(relevantDate, { zone: oneSpelling(timeZone) })
      .startOf('day')
      .toJSDate()
  }
  return Timestamp.safeParse(relevantDate).success ? new Date(relevantDate) : null
}
