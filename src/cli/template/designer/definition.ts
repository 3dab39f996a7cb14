import { barcodeFormatOf, barcodeFormats, findUndrawable } from '../../../core/barcode-formats.ts'
import {
  type DefinitionInput,
  type ImageRole,
  imageRoles,
  type PassType,
} from '../../../core/contract/schemas/definition.ts'
import { isJsonObject } from '../../../core/json.ts'
import { parseColor } from '../../../core/rules/display/colors.ts'
import { isPosterTicket } from '../../../core/rules/display/poster.ts'
import { isP256Key, NFC_KEY_FORM } from '../../../core/rules/pass/nfc.ts'
import type { DesignerBundle } from './bundle.ts'
import { readFacts } from './facts.ts'
import type { FieldContext } from './fields.ts'
import { cleanText, type JsonObject, type Report } from './report.ts'
import { readStyles } from './styles.ts'
import { DEFAULT_LANGUAGE, Texts } from './texts.ts'
import { toTimestamp } from './values.ts'
import { Variables } from './variables.ts'

/** Keys that the service sets for each pass. Some of them are secret. */
const identifiers = [
  'passTypeIdentifier',
  'teamIdentifier',
  'serialNumber',
  'authenticationToken',
  'webServiceURL',
  'voided',
]

/** Keys that this module reads, or that have no content. */
const ownKeys = new Set([
  ...identifiers,
  'formatVersion',
  'organizationName',
  'description',
  'logoText',
  'backgroundColor',
  'foregroundColor',
  'labelColor',
  'barcode',
  'barcodes',
  'nfc',
  'locations',
  'relevantDate',
  'relevantDates',
  'expirationDate',
  'preferredStyleSchemes',
  'semantics',
  'generic',
  'eventTicket',
  'storeCard',
  'coupon',
  'boardingPass',
  'posterGeneric',
])

export interface ReadDefinition {
  passType: PassType
  /** The definition without its images. `apple` can have values that publishing rejects. */
  definition: DefinitionInput
  report: Report
  /** The identifier keys that the import left out, because the service sets them. */
  dropped: string[]
}

const CAN_BE_PASS =
  'Has no tooling.json of Pass Designer. If this is the pass of a holder, replace its values, which are now examples and ' +
  'defaults of variables'

/** @throws CliError if the template has no style */
export function readDefinition(bundle: DesignerBundle, name: string): ReadDefinition {
  const { pass } = bundle
  const report: Report = { kept: [], unmapped: [...bundle.unmapped], assumed: [] }
  if (bundle.canBePass) report.assumed.push({ path: 'pass.json', reason: CAN_BE_PASS })
  const texts = new Texts(bundle, report)
  const variables = new Variables()
  const context: FieldContext = { texts, variables, report, keys: new Set(), fieldsByValue: new Map() }

  const { passType, transitType, hasPoster, fields, overrides } = readStyles(pass, context)
  const tags = isJsonObject(pass.semantics) ? pass.semantics : {}
  const { event, trip, semantics } = readFacts(tags, { passType, transitType }, context)
  const isEventPoster = passType === 'eventTicket' && isPosterTicket(pass)
  for (const tag of Object.keys(semantics)) {
    const reason =
      tag === 'seats'
        ? 'A template file cannot contain all of these seats, or all of their values'
        : 'An event or a trip in a template file has no key for this value'
    report.kept.push({ path: `semantics.${tag}`, reason })
  }
  const design = {
    ...appearance(pass, name, context),
    fields,
    ...readBarcode(pass, context),
    ...readPlaces(pass, context),
    ...readRelevance(pass, event ?? trip, context),
  }
  const apple = {
    ...(passType === 'boardingPass' && !trip && transitType !== undefined && { transitType }),
    ...((hasPoster || isEventPoster) && { poster: true }),
    ...overrides,
    ...(Object.keys(semantics).length > 0 && { semantics }),
    ...otherKeys(pass, report),
  }
  const { languages } = texts
  const definition = {
    ...(languages && { languages }),
    design,
    ...readNfc(pass, context),
    ...(Object.keys(apple).length > 0 && { apple }),
    ...readExpiry(pass, context),
    ...(event && { event }),
    ...(trip && { trip }),
  }
  texts.reportUnused(report)
  return {
    passType,
    definition: { variables: variables.list(), ...definition } as DefinitionInput,
    report,
    dropped: identifiers.filter((key) => pass[key] !== undefined && pass[key] !== ''),
  }
}

/**
 * Returns the keys of pass.json that a design does not support, as overrides for `apple`. Publishing checks whether
 * Apple supports them.
 */
function otherKeys(pass: JsonObject, { kept }: Report): JsonObject {
  const entries = Object.entries(pass).filter(([key, value]) => {
    const isEmpty = value === null || value === '' || (Array.isArray(value) && value.length === 0)
    return !ownKeys.has(key) && !isEmpty
  })
  for (const [path] of entries) kept.push({ path, reason: 'A design does not have this key' })
  return Object.fromEntries(entries.map(([key, value]) => [key, withoutItemIds(value)]))
}

/** Removes the IDs that the editor adds to the items of lists. */
function withoutItemIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutItemIds)
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).filter(([key]) => key !== '_id')
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutItemIds(item)]))
}

function appearance(pass: JsonObject, name: string, { texts, report }: FieldContext) {
  const [organizationName, description] = (['organizationName', 'description'] as const).map((path) => {
    const text = textOf(pass[path])
    const max = path === 'description' ? 1000 : 255
    if (text !== undefined && text.length <= max) return texts.of(text)
    const reason = text === undefined ? 'Is empty' : `Has more than ${max} characters`
    report.assumed.push({ path, reason: `${reason}, so the name of the template is used` })
    return name
  })
  const logoText = textOf(pass.logoText)
  const colors = Object.entries({
    background: 'backgroundColor',
    foreground: 'foregroundColor',
    label: 'labelColor',
  }).flatMap(([role, key]) => {
    const color = textOf(pass[key])
    if (color === undefined) return []
    const hex = parseColor(color.trim())
    if (hex === null) report.unmapped.push({ path: key, reason: `${color} is not a color` })
    return hex === null ? [] : [[role, hex] as const]
  })
  return {
    organizationName,
    description,
    ...(logoText !== undefined && { logoText: texts.of(logoText) }),
    ...(colors.length > 0 && { colors: Object.fromEntries(colors) }),
  }
}

function textOf(value: unknown): string | undefined {
  const text = typeof value === 'string' ? cleanText(value) : ''
  return text.trim() === '' ? undefined : text
}

function readBarcode(pass: JsonObject, { variables, report, texts, fieldsByValue }: FieldContext) {
  const list = Array.isArray(pass.barcodes) && pass.barcodes.length > 0 ? pass.barcodes : [pass.barcode]
  const [path, barcode] = list[0] === pass.barcode ? ['barcode', pass.barcode] : ['barcodes.0', list[0]]
  if (!isJsonObject(barcode)) return { barcode: null }
  const format = barcodeFormatOf('apple', String(barcode.format))
  if (!format) {
    report.unmapped.push({ path: `${path}.format`, reason: `Phones do not know ${barcode.format}` })
    return {}
  }
  for (const [index, other] of list.entries()) {
    // Do not report a fallback barcode as lost, because the service adds such a barcode.
    const isFallback = isJsonObject(other) && index > 0 && other.message === barcode.message
    if (index > 0 && !(isFallback && barcodeFormats[format].needsMessage)) {
      report.unmapped.push({ path: `barcodes.${index}`, reason: 'A design has one barcode' })
    }
  }
  const message = textOf(barcode.message) ?? ''
  const needsMessage = barcodeFormats[format].needsMessage
  const isSample = message !== '' && findUndrawable(format, message) === undefined
  const same = fieldsByValue.get(message) ?? []
  const value = needsMessage
    ? ((same.length === 1 ? same[0]?.placeholder : undefined) ??
      variables.add({ key: 'barcodeMessage', ...(isSample && { example: message }), isRequired: true }))
    : undefined
  if (value !== undefined) variables.require(value)
  else if (message !== '') {
    report.assumed.push({ path: `${path}.message`, reason: 'Each pass has its own scan code: {{pass.scanCode}}' })
  }
  const altText = textOf(barcode.altText)
  const isMessage = altText !== undefined && altText.replaceAll(/\s/g, '') === message.replaceAll(/\s/g, '')
  const shown =
    altText === undefined || texts.isTranslated(altText)
      ? altText && texts.of(altText)
      : isMessage
        ? (value ?? '{{pass.scanCode}}')
        : variables.add({ key: 'barcodeText', example: altText })
  return {
    barcode: { format, ...(value !== undefined && { message: value }), ...(shown !== undefined && { altText: shown }) },
  }
}

function readNfc({ nfc }: JsonObject, { variables, report }: FieldContext) {
  if (!isJsonObject(nfc)) return {}
  if (!isP256Key(String(nfc.encryptionPublicKey))) {
    report.unmapped.push({ path: 'nfc.encryptionPublicKey', reason: NFC_KEY_FORM })
    return {}
  }
  const example = textOf(nfc.message)
  return {
    nfc: {
      message: variables.add({ key: 'nfcMessage', ...(example !== undefined && { example }) }),
      publicKey: nfc.encryptionPublicKey,
      ...(typeof nfc.requiresAuthentication === 'boolean' && { requiresAuthentication: nfc.requiresAuthentication }),
    },
  }
}

function readPlaces({ locations }: JsonObject, { texts, report }: FieldContext) {
  if (!Array.isArray(locations)) return {}
  const read = locations.flatMap((location: unknown, index) => {
    const path = `locations.${index}`
    if (!isJsonObject(location) || typeof location.latitude !== 'number' || typeof location.longitude !== 'number') {
      report.unmapped.push({ path, reason: 'Is not a position' })
      return []
    }
    if (location.altitude !== undefined && location.altitude !== null) {
      report.unmapped.push({ path: `${path}.altitude`, reason: 'A position in a template file has no altitude' })
    }
    const text = textOf(location.relevantText)
    const { latitude, longitude } = location
    return [{ latitude, longitude, ...(text !== undefined && { relevantText: texts.of(text) }) }]
  })
  for (const index of read.keys()) {
    if (index >= MAX_PLACES)
      report.unmapped.push({ path: `locations.${index}`, reason: 'Phones use at most ten positions' })
  }
  return read.length > 0 ? { locations: read.slice(0, MAX_PLACES) } : {}
}

const MAX_PLACES = 10

/** Reads the time at which the pass is relevant, unless an event or a trip sets it. */
function readRelevance(pass: JsonObject, facts: JsonObject | undefined, { variables, report }: FieldContext) {
  const list = Array.isArray(pass.relevantDates) ? pass.relevantDates : []
  const [first, ...others] = list
  const { date, relevantDate, startDate, endDate } = isJsonObject(first) ? first : ({} as JsonObject)
  const at = toTimestamp(date ?? relevantDate ?? startDate ?? pass.relevantDate)
  const isAbout = facts && ['doorsAt', 'startsAt', 'boardsAt', 'departsAt'].some((key) => facts[key] !== undefined)
  if (isAbout) {
    if (at !== undefined)
      report.assumed.push({ path: 'relevantDate', reason: 'The times of the event or trip replace this date' })
    return {}
  }
  for (const index of others.keys()) {
    report.unmapped.push({ path: `relevantDates.${index + 1}`, reason: 'A design has one relevant date' })
  }
  if (endDate !== undefined) {
    report.unmapped.push({ path: 'relevantDates.0.endDate', reason: 'A relevant date of a design has no end' })
  }
  if (at === undefined) return {}
  return { relevantDate: variables.add({ key: 'relevantDate', format: 'date-time', example: at }) }
}

function readExpiry({ expirationDate }: JsonObject, { variables }: FieldContext) {
  const example = toTimestamp(expirationDate)
  return example === undefined
    ? {}
    : { expiresAt: variables.add({ key: 'expiresAt', label: 'Expires at', format: 'date-time', example }) }
}

/** Returns the image files of a bundle by role, with the default language first. */
export function imagesOf({ images }: DesignerBundle, others: readonly string[] = []) {
  const read = new Map<ImageRole, { language: string; bytes: Buffer }[]>()
  for (const role of imageRoles) {
    const byLanguage = images.get(role) ?? new Map<string, Buffer>()
    const files = [DEFAULT_LANGUAGE, ...others].flatMap((language, index) => {
      const bytes = byLanguage.get(language) ?? (index === 0 ? byLanguage.get('') : undefined)
      return bytes ? [{ language, bytes }] : []
    })
    if (files.length > 0) read.set(role, files)
  }
  return read
}
