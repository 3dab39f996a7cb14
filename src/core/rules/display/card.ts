import { DateTime } from 'luxon'
import { z } from 'zod'
import { Timestamp } from '../../contract/common.ts'
import type {
  BarcodeFormat,
  Definition,
  FieldDefinition,
  FieldGroup,
  GoogleKind,
  ImageRole,
  PassType,
} from '../../contract/definition.ts'
import { fieldGroups } from '../../contract/definition.ts'
import { zoneOf } from '../redemption/redemption-windows.ts'
import { isTimeZone, oneSpelling } from '../redemption/time-zones.ts'
import { ownImageRoles, resolveImages } from '../template/image-choice.ts'
import { languageOf, UNSAID_LANGUAGE } from '../template/languages.ts'
import { isSafeLink } from '../template/links.ts'
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
import { type About, aboutOf, appleKeys } from './about.ts'
import { colorsOf } from './colors.ts'
import { type Flight, flightOf } from './flight.ts'
import { formatValue, type ValueLocale, type ValueType } from './format-value.ts'

/** What a pass shows, free of any platform: every placeholder filled, every text well-formed. */
export interface Card extends About {
  passType: PassType
  /** BCP 47; a definition that names no languages does not say. */
  language?: string
  organizationName: string
  description: string
  logoText: string | null
  colors: { background: string | null; foreground: string | null; label: string | null }
  /** Image ids by role; a role without one is left out. */
  images: Partial<Record<ImageRole, string>>
  /** The roles whose image is a matter of the pass, where there are any; the others are the same for all of a version. */
  ownImages?: ImageRole[]
  fields: Record<FieldGroup, CardField[]>
  barcode: { format: BarcodeFormat; message: string; altText: string | null }
  locations: { latitude: number; longitude: number; relevantText?: string }[]
  /** As the definition's text came out; a platform leaves out what is no ISO 8601 date-time or date. */
  relevantDate: string | null
  /** Where a day begins; UTC where the definition gives none. */
  timeZone?: string | undefined
  /**
   * Where times are shown that have no timeZone: where a trip departs, else that of the redemption policy, IANA or an offset
   * such as UTC+2; UTC by default.
   */
  fallbackZone?: string
  links: { label: string; url: string }[]
  expiresAt: Date | null
  /** True once the pass is void: it is still served, and shown as no longer valid. */
  voided: boolean
  /** The name of the holder; a card of nobody has none. */
  holder?: string | undefined
  /** Of a boarding pass by air that says all that Google requires. */
  flight?: Flight | undefined
  apple: Record<string, unknown>
  google: { kind?: GoogleKind; points?: string; class?: Record<string, unknown>; object?: Record<string, unknown> }
}

/** A field of a card, filled for one pass. */
export interface CardField {
  key: string
  label: string
  /** BCP 47, of a label that is a wallet's own word, and no text of the card. */
  labelLanguage?: string
  /** As people read it, in the language of the card. */
  value: string
  /** What the value is where it is no text, and how it was given. */
  typed?: ValueType & { text: string }
  align?: NonNullable<FieldDefinition['align']>
  /** Holds %@, where the new value goes. */
  changeMessage?: string
}

/** What a card is rendered from. */
export interface CardFacts {
  passType: PassType
  definition: Definition
  /** What placeholders are filled by: the variables of the pass and the system variables. */
  scope: Scope
  /** Null for a pass that never expires. */
  expiresAt: Date | null
  voided: boolean
}

/**
 * Renders a definition for one pass: whatever the values hold comes out as text.
 * @throws ApiError PASS_ISSUING_FAILED where it would come out too large, before any of it is made
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
  const ownRoles = ownImageRoles(definition)
  const fields = Object.fromEntries(
    fieldGroups.map((group) => [
      group,
      design.fields[group].map((field) => ({
        key: field.key,
        label: filled(field.label),
        ...shownValue(field, scope, locale),
        ...(field.align !== undefined && { align: field.align }),
        ...(field.changeMessage !== undefined && { changeMessage: filled(field.changeMessage) }),
      })),
    ]),
  ) as Record<FieldGroup, CardField[]>
  return {
    passType,
    ...(language !== undefined && { language }),
    organizationName: filled(design.organizationName),
    description: filled(design.description),
    logoText: optional(design.logoText),
    colors: colorsOf(design.colors, scope),
    images: resolveImages(definition, scope),
    ...(ownRoles.length > 0 && { ownImages: ownRoles }),
    fields,
    barcode: design.barcode
      ? {
          format: design.barcode.format,
          message: barcodeMessage(definition, scope),
          altText: optional(design.barcode.altText),
        }
      : { format: 'qr', message: '', altText: null },
    locations: design.locations.map((location) => ({
      latitude: location.latitude,
      longitude: location.longitude,
      ...(location.relevantText !== undefined && { relevantText: filled(location.relevantText) }),
    })),
    relevantDate: optional(design.relevantDate),
    ...zones,
    // Passes from before links were checked can hold others.
    links: design.links
      .map((link) => ({ label: filled(link.label), url: filled(link.url) }))
      .filter(({ url }) => isSafeLink(url)),
    expiresAt,
    voided,
    holder: scope.get('pass.label')?.toWellFormed(),
    flight: flightOf(definition, passType, scope),
    ...about,
    apple: appleKeys(about, posterKeys(fillDeep(definition.apple ?? {}, scope))),
    google: fillDeep(definition.google ?? {}, scope),
  }
}

/** A phone that knows no posters shows the older style. */
function posterKeys({ poster, ...overrides }: Record<string, unknown>): Record<string, unknown> {
  return poster === true ? { preferredStyleSchemes: ['posterEventTicket', 'eventTicket'], ...overrides } : overrides
}

function shownValue(field: FieldDefinition, scope: Scope, locale: ValueLocale): Pick<CardField, 'value' | 'typed'> {
  const { as = 'text', style, currency } = field
  if (as === 'text') return { value: fill(field.value, scope) }
  const text = fill(field.value, scope).trim()
  const type = { as, ...(style && { style }), ...(currency !== undefined && { currency: fill(currency, scope) }) }
  return { value: formatValue(text, type, locale), typed: { ...type, text } }
}

/** For whom the values of a card are written. */
export function localeOf(card: Pick<Card, 'language' | 'timeZone' | 'fallbackZone'>): ValueLocale {
  const { language = UNSAID_LANGUAGE, timeZone, fallbackZone } = card
  return { language, timeZone, fallbackZone }
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
  // It is what times fall back to anyway.
  if (name === 'UTC') return {}
  // Of a draft the values may be none.
  const isZone = typeof zone === 'string' ? isTimeZone(zone) : zone.isValid
  return isZone ? { fallbackZone: name } : {}
}

/**
 * What a scanner reads off the pass: what another provider printed, else the definition's message, or the scan code where it gives
 * none or has no barcode.
 */
export function barcodeMessage(definition: Definition, scope: Scope): string {
  return scope.get(SCAN_PAYLOAD) ?? fill(definition.design.barcode?.message ?? '{{pass.scanCode}}', scope)
}

/** True where a new scan code is another thing for scanners to read, and something on the pass shows it. */
export function showsScanCode({ design, apple, google }: Definition): boolean {
  const code: SystemVariable = 'pass.scanCode'
  if (design.barcode)
    return design.barcode.message === undefined || placeholdersIn(design.barcode.message).includes(code)
  return [...placeholdersDeep({ design, apple, google })].some(({ name }) => name === code)
}

/** The moment that a card is for, a date alone being the start of that day; null where its text is neither. */
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
