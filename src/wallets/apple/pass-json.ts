import { type BarcodeFormat, barcodeFormats, isLatin1 } from '../../core/barcode-formats.ts'
import { type FieldGroup, fieldGroups, PassType } from '../../core/contract/schemas/definition.ts'
import type { Issue } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import { placeAbout, timeAbout } from '../../core/rules/display/about.ts'
import { toAlignment, toAppleValue } from '../../core/rules/display/apple-value.ts'
import { type Card, type CardField, localeOf, relevantMoment } from '../../core/rules/display/card.ts'
import { toRgb } from '../../core/rules/display/colors.ts'
import type { ValueLocale } from '../../core/rules/display/format-value.ts'
import type { WalletPass } from '../wallet.ts'
import { type JsonObject, mergeOver, toTypes } from './overrides/overrides.ts'

export type ApplePass = Pick<
  WalletPass,
  | 'id'
  | 'serialNumber'
  | 'authenticationToken'
  | 'card'
  | 'translations'
  | 'translatedImages'
  | 'message'
  | 'groupId'
  | 'webServiceUrl'
>

export interface PassIdentifiers {
  passTypeIdentifier: string
  teamIdentifier: string
}

export const groupNames = {
  header: 'headerFields',
  primary: 'primaryFields',
  secondary: 'secondaryFields',
  auxiliary: 'auxiliaryFields',
  back: 'backFields',
} as const satisfies Record<FieldGroup, string>

/**
 * Builds pass.json. The overrides of the definition take precedence over the values of the card, but not over keys that
 * the server must set, such as the serial number. Never throws.
 */
export function buildPassJson(pass: ApplePass, identity: PassIdentifiers, webServiceUrl: string): JsonObject {
  const { card } = pass
  const classic = styleFields(card)
  const base = {
    ...appearance(card),
    ...groupingOf(pass),
    [card.passType]: classic,
    ...(card.isPoster && { [POSTER]: posterFields(classic) }),
  }
  const shown = applyOverrides(base, card.apple, card.passType)
  return {
    ...withMessage(inStyles(shown, withoutEmptyFields), pass),
    formatVersion: 1,
    passTypeIdentifier: identity.passTypeIdentifier,
    teamIdentifier: identity.teamIdentifier,
    serialNumber: pass.serialNumber ?? pass.id,
    webServiceURL: pass.webServiceUrl ?? webServiceUrl,
    authenticationToken: pass.authenticationToken,
    voided: card.voided || undefined,
    expirationDate: card.expiresAt ? w3cDate(card.expiresAt) : undefined,
  }
}

/** Returns the key that groups passes on a phone. Only event tickets and boarding passes support this key. */
function groupingOf({ card, groupId }: ApplePass): JsonObject {
  const isTaken = card.passType === 'eventTicket' || card.passType === 'boardingPass'
  return groupId !== undefined && isTaken ? { groupingIdentifier: groupId } : {}
}

/** The poster style of iOS 27. Passes also have the classic style, which earlier versions of iOS show. */
const POSTER = 'posterGeneric'

export function applyOverrides(base: JsonObject, filled: JsonObject, passType: PassType): JsonObject {
  const { transitType = 'PKTransitTypeGeneric', ...overrides } = toTypes(filled)
  const style = base[passType] as JsonObject
  // Remove overrides for other classic styles, because phones reject a pass with two classic styles.
  for (const other of PassType.options) if (other !== passType) delete overrides[other]
  return mergeOver({ ...base, [passType]: passType === 'boardingPass' ? { ...style, transitType } : style }, overrides)
}

/** Returns the styles of a pass.json: the classic style and, if there is one, the poster. */
function stylesOf(shown: JsonObject): (readonly [name: string, style: JsonObject])[] {
  return [...PassType.options, POSTER].flatMap((name) => {
    const style = shown[name]
    return isJsonObject(style) ? [[name, style] as const] : []
  })
}

function inStyles(shown: JsonObject, change: (style: JsonObject) => JsonObject): JsonObject {
  return { ...shown, ...Object.fromEntries(stylesOf(shown).map(([name, style]) => [name, change(style)])) }
}

function withoutEmptyFields(style: JsonObject): JsonObject {
  const kept = new Map(Object.entries(style))
  for (const name of groupsOfPassJson) {
    const fields = style[name]
    if (!Array.isArray(fields) || fields.every(isShown)) continue
    const shown = fields.filter(isShown)
    if (shown.length > 0) kept.set(name, shown)
    else kept.delete(name)
  }
  return Object.fromEntries(kept)
}

const groupsOfPassJson = [...Object.values(groupNames), 'footerFields', 'additionalInfoFields']

function isShown(field: { value?: unknown } | null | undefined): boolean {
  return typeof field?.value !== 'string' || field.value.trim() !== ''
}

/**
 * Returns the path in filled overrides of a path in their pass.json, whose lists lack the items that are empty. Without
 * it, an issue would be reported at the wrong item.
 */
export function pathInAppleOverrides(filled: unknown, json: unknown, [key, ...rest]: Issue['path']): Issue['path'] {
  if (key === undefined) return []
  const hasDropped = Array.isArray(filled) && Array.isArray(json) && json.length < filled.length
  const kept = hasDropped ? [...filled.keys()].filter((index) => filled[index] !== '' && isShown(filled[index])) : []
  const written = kept[Number(key)] ?? key
  return [written, ...pathInAppleOverrides(Object(filled)[written], Object(json)[key], rest)]
}

/**
 * Adds a field with the text of the last notification to the back of each style. Phones show the text when this field
 * changes. The field has the same key in all styles. Otherwise, a phone that shows another style after an update of iOS
 * would announce the text again.
 */
function withMessage(shown: JsonObject, { card, message }: ApplePass): JsonObject {
  if (message === undefined) return shown
  const groups = stylesOf(shown).flatMap(([, style]) => groupsOfPassJson.map((name) => style[name]))
  const taken = groups.flatMap((fields) => (Array.isArray(fields) ? fields.map((field) => String(field?.key)) : []))
  const value = typeof message === 'string' ? message : message[card.language ?? '']
  const field = { key: uniqueKeys(taken)('message'), label: shown.organizationName, value, changeMessage: '%@' }
  return inStyles(shown, (style) => {
    const backFields = Array.isArray(style.backFields) ? style.backFields : []
    return { ...style, backFields: [field, ...backFields] }
  })
}

function appearance(card: Card): JsonObject {
  const organizationName = firstText(card.organizationName, card.description, 'Pass')
  const locations = locationsOf(card)
  return {
    organizationName,
    description: firstText(card.description, organizationName),
    ...(card.logoText && { logoText: card.logoText }),
    ...(card.colors.background && { backgroundColor: toRgb(card.colors.background) }),
    ...(card.colors.foreground && { foregroundColor: toRgb(card.colors.foreground) }),
    ...(card.colors.label && { labelColor: toRgb(card.colors.label) }),
    ...barcodes(card.barcode),
    ...nfcKeys(card),
    ...(locations.length > 0 && { locations }),
    ...relevantDates(card),
  }
}

function styleFields(card: Card): JsonObject {
  const links = card.links.map((link, n) => ({ key: `link-${n + 1}`, label: link.label, value: link.url }))
  const unique = uniqueKeys()
  const locale = localeOf(card)
  const groups = fieldGroups.map((group) => {
    const fields: CardField[] = group === 'back' ? [...card.fields.back, ...links] : card.fields[group]
    return [groupNames[group], fields.map((field) => passField(field, unique(field.key), locale))] as const
  })
  return Object.fromEntries(groups.filter(([, fields]) => fields.length > 0))
}

/**
 * Places the fields of a classic style on a poster, which has no secondary or auxiliary fields. Removes the alignment
 * of the primary fields, which a poster does not allow. Publishing rejects a design with more fields than the poster
 * has places (poster-check.ts).
 */
export function posterFields(classic: JsonObject): JsonObject {
  const { headerFields, primaryFields, secondaryFields, auxiliaryFields, backFields } = classic as FieldGroups
  const primary = [...(primaryFields ?? []), ...(secondaryFields ?? [])].map(({ textAlignment: _, ...field }) => field)
  return {
    ...(headerFields && { headerFields }),
    ...(primary.length > 0 && { primaryFields: primary }),
    ...(auxiliaryFields && { footerFields: auxiliaryFields }),
    ...(backFields && { backFields }),
  }
}

type FieldGroups = Partial<Record<(typeof groupNames)[FieldGroup], JsonObject[]>>

function passField(
  { label, value, typed, align, changeMessage }: CardField,
  key: string,
  locale: ValueLocale,
): JsonObject {
  return {
    key,
    ...(label !== '' && { label }),
    ...(typed ? toAppleValue(typed.text, typed, locale) : { value }),
    ...(align && { textAlignment: toAlignment(align, locale) }),
    ...(changeMessage !== undefined && { changeMessage }),
  }
}

/**
 * Makes keys unique by adding a number to repeated keys. Apple requires unique keys in a pass, but a definition can use
 * the same key in two groups.
 */
function uniqueKeys(known: string[] = []): (key: string) => string {
  const taken = new Set(known)
  return (key) => {
    let unique = key
    for (let n = 2; taken.has(unique); n++) unique = `${key}-${n}`
    taken.add(unique)
    return unique
  }
}

/**
 * Returns the barcode, and a second barcode for phones that do not support the format of the first. Returns no barcode
 * if the message is empty, because phones reject such a barcode.
 */
function barcodes(barcode: Card['barcode']): JsonObject {
  if (barcode.message === '') return {}
  const first = appleBarcode(barcode, barcode.format)
  const { fallback } = barcodeFormats[barcode.format]
  if (fallback === undefined) return { barcodes: [first] }
  const second = appleBarcode(barcode, fallback)
  // Write the fallback under the deprecated key `barcode`, which does not support the format of the first barcode.
  return { barcodes: [first, second], barcode: second }
}

function appleBarcode({ message, altText }: Card['barcode'], format: BarcodeFormat): JsonObject {
  return {
    format: barcodeFormats[format].apple,
    message,
    // Scanners expect Latin-1. Use UTF-8 only for a message that Latin-1 cannot represent.
    messageEncoding: isLatin1(message) ? 'iso-8859-1' : 'utf-8',
    ...(altText && { altText }),
  }
}

/** Returns the NFC content of a card for iPhones. Returns no content for an empty message, which phones reject. */
export function nfcKeys({ nfc }: { nfc?: Card['nfc'] | undefined }): JsonObject {
  if (!nfc || nfc.message.trim() === '') return {}
  const { message, publicKey: encryptionPublicKey, requiresAuthentication } = nfc
  return {
    nfc: { message, encryptionPublicKey, ...(requiresAuthentication !== undefined && { requiresAuthentication }) },
  }
}

/**
 * The maximum number of locations that phones use. The locations of the design come first, before the location of the
 * event or trip.
 */
const MAX_LOCATIONS = 10

function locationsOf(card: Card): JsonObject[] {
  const about = placeAbout(card)
  const isKnown = card.locations.some(
    ({ latitude, longitude }) => latitude === about?.latitude && longitude === about.longitude,
  )
  const own = card.locations.map((location) => ({ ...location }))
  return [...own, ...(about && !isKnown ? [about] : [])].slice(0, MAX_LOCATIONS)
}

const DAY_MS = 86_400_000

/**
 * Returns the relevant time of the design or, if it has none, of the event or trip. The time is under two keys:
 * `relevantDate` for iOS before version 18, and `relevantDates` for later versions.
 */
function relevantDates(card: Card): JsonObject {
  const ofDesign = relevantMoment(card)
  const { from, until } = ofDesign ? { from: ofDesign, until: undefined } : (timeAbout(card) ?? {})
  if (!from) return {}
  const date = w3cDate(from)
  const isInterval = until !== undefined && until.getTime() - from.getTime() <= DAY_MS
  const entry = isInterval ? { startDate: date, endDate: w3cDate(until) } : { date, relevantDate: date }
  return { relevantDate: date, relevantDates: [entry] }
}

/** Formats a time without a fraction of a second, because phones reject fractions. */
function w3cDate(at: Date): string {
  return `${at.toISOString().slice(0, -5)}Z`
}

function firstText(...texts: [string, ...string[]]): string {
  return texts.find((text) => text.trim() !== '') ?? texts[0]
}
