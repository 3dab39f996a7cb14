import { barcodeFormats, googleFormatOf } from '../../barcode-formats.ts'
import type { Definition, GoogleKind, ImageRole, PassType } from '../../contract/schemas/definition.ts'
import type { Warning } from '../../contract/schemas/warnings.ts'
import { MAX_ISSUES } from '../../errors.ts'
import { saysSomething } from '../display/apple-front.ts'
import type { Card, CardField } from '../display/card.ts'
import { missingOfFlight } from '../display/flight.ts'
import { type GoogleView, MAX_GOOGLE_MODULES } from '../display/google-view.ts'
import { exampleMessage } from '../template/barcode.ts'
import { missingTranslations, writtenOf } from '../template/definition-languages.ts'
import { exampleScope } from '../template/resolve.ts'
import { hiddenImages, type ImageTypes } from './hidden-images.ts'
import { lintApple } from './lint-apple.ts'
import { lintColors, lintStrip } from './lint-colors.ts'
import { type AppleFacts, type PixelSize, pathIn, quote, warn } from './lint-facts.ts'

export interface LintFacts extends AppleFacts {
  /** The barcode message of the sample pass according to the design. Scans find a pass by this message. */
  scanned: string
  /** The sample pass for Google Wallet: its platform-independent `card`, and the `view` of the card. */
  google: { kind: GoogleKind; needsLogo: boolean; card: Card; view: GoogleView; hidden: CardField[] } | null
  /** The largest size at which wallets show an image, by role. */
  wantedPixels: Partial<Record<ImageRole, PixelSize>>
  imageTypes?: ImageTypes
}

/** Returns at most 100 warnings about problems that holders would notice. Omits accepted warnings. */
export function lintDefinition(facts: LintFacts): Warning[] {
  const accepted = new Set(facts.definition.accept)
  const warnings: Warning[] = []
  for (const warning of findWarnings(facts)) {
    if (!accepted.has(warning.code)) warnings.push(warning)
    if (warnings.length === MAX_ISSUES) break
  }
  return warnings
}

function* findWarnings(facts: LintFacts): Generator<Warning> {
  yield* lintColors(facts)
  yield* lintStrip(facts)
  yield* lintApple(facts)
  yield* lintImages(facts)
  yield* lintGoogle(facts)
  yield* lintBarcode(facts)
  for (const { what, path, language } of missingTranslations(writtenOf(facts.definition))) {
    yield warn('translation-missing', path, `Has no ${what} in ${language}: holders see the default language instead`)
  }
}

function* lintImages(facts: LintFacts): Generator<Warning> {
  const { apple, google, images, definition, wantedPixels, imageTypes } = facts
  const { icon, logo } = definition.design.images
  if (apple && icon === undefined) {
    yield warn(
      'image-missing',
      ['design', 'images', 'icon'],
      'Lock screens and notifications of iPhones show an icon. Without one, they show a plain square. Add an ' +
        `icon of at least ${sizeText(wantedPixels.icon)}`,
    )
  }
  if (google && icon === undefined && logo === undefined && google.needsLogo) {
    yield warn(
      'image-missing',
      ['design', 'images', 'logo'],
      `Google requires a logo for passes of the kind ${google.kind}: add an icon or a logo`,
    )
  }
  if (imageTypes && (apple || google)) {
    const shown = { ...facts, imageTypes, isApple: apple !== null, isGoogle: google !== null }
    for (const { role, message } of hiddenImages(shown)) yield warn('image-hidden', ['design', 'images', role], message)
  }
  for (const [role, size] of Object.entries(images) as [ImageRole, PixelSize][]) {
    const wanted = wantedPixels[role]
    const isShown = role === 'hero' ? google !== null : role === 'icon' || apple?.images[role] !== undefined
    // One large side is enough, because an image is scaled to fit its frame.
    if (!wanted || !isShown || size.width >= wanted.width || size.height >= wanted.height) continue
    yield warn(
      'image-small',
      ['design', 'images', role],
      `The ${role} has ${sizeText(size)} and is blurred on high-resolution phones: upload one that fills ` +
        `${sizeText(wanted)}`,
    )
  }
}

function sizeText(size: PixelSize | undefined): string {
  return size ? `${size.width} x ${size.height} pixels` : 'the size in the guide'
}

function* lintBarcode({ definition, apple, google, scanned }: LintFacts): Generator<Warning> {
  const { barcode } = definition.design
  const overrides = [
    [['apple', 'barcodes'], apple?.barcode.message],
    [['google', 'object', 'barcode'], google?.view.barcode.message],
  ] as const
  for (const [path, shown = ''] of overrides) {
    if (shown === '' || shown === scanned) continue
    yield warn(
      'barcode-unmatched',
      [...path],
      `A scan of this barcode finds no pass: its message is ${quote(shown)}, and that of the pass is ` +
        `${quote(scanned)}. Use the message of design.barcode`,
    )
  }
  if (!google || !barcode || definition.google?.object?.barcode !== undefined) return
  const { text, isComplete } = exampleMessage(definition)
  const shown = googleFormatOf(barcode.format, text)
  if (!isComplete || text === '' || shown === barcode.format) return
  const { google: name, googleNeeds } = barcodeFormats[barcode.format]
  yield warn(
    'barcode-fallback',
    ['design', 'barcode', 'message'],
    `Google Wallet shows ${quote(text)} as a ${barcodeFormats[shown].name}, because Google's ${name} needs ${googleNeeds?.what}`,
  )
}

/** The maximum length, in characters, that Google recommends for names at the top of the card. */
const MAX_GOOGLE_NAME = 20

function* lintGoogle({ definition, passType, google }: LintFacts): Generator<Warning> {
  if (!google) return
  const { kind, card, view } = google
  const { header, primary, secondary, auxiliary, back } = card.fields
  const front = [header, primary, secondary, auxiliary].flat().filter(saysSomething)
  // In a generic pass, the first primary field becomes the title, which is not a text module.
  const title = kind === 'generic' ? primary[0] : undefined
  const modules = [...front, ...back].filter((field) => field !== title && field.value.trim() !== '')
  if (modules.length > MAX_GOOGLE_MODULES) {
    const path = pathIn(definition, modules[MAX_GOOGLE_MODULES]!.key) ?? ['design', 'fields']
    yield warn(
      'google-modules-over',
      path,
      `Google Wallet shows ${MAX_GOOGLE_MODULES} fields of a pass in addition to its title, and this one has ` +
        `${modules.length}. The last back fields share one field, one line each: combine or remove some fields`,
    )
  }
  if (card.links.length > MAX_GOOGLE_MODULES) {
    yield warn(
      'google-modules-over',
      ['design', 'links', MAX_GOOGLE_MODULES],
      `Google Wallet shows ${MAX_GOOGLE_MODULES} links of a pass, and this one has ${card.links.length}. The ` +
        'others are shown among its texts: remove some',
    )
  }
  const chosen = definition.google?.class?.classTemplateInfo !== undefined
  for (const { key, label } of chosen ? [] : google.hidden) {
    yield warn(
      'google-field-hidden',
      pathIn(definition, key)!,
      `The front in Google Wallet has no space for ${quote(label || key)}: choose the fields with google.rows, or move it to the back`,
    )
  }
  const isTrip = definition.trip !== undefined
  const missing =
    definition.google?.kind === undefined ? missingOfFlight(definition, passType, exampleScope(definition)) : []
  if (missing.length > 0) {
    yield warn(
      'flight-data-missing',
      isTrip ? ['trip', 'mode'] : ['apple', 'transitType'],
      'Google shows this pass as a transit ticket, not as a flight. Set google.kind, or add to ' +
        `${isTrip ? 'the trip' : 'apple.semantics (without variables, or with google.classKey)'}: ` +
        missing.map((tag) => (isTrip ? ofTrip[tag] : tag)).join(', '),
    )
  }
  const isRowShown = view.rows.some((row) => row.some(saysSomething))
  const isTitleShown = front.some(({ value }) => value.trim() !== '' && view.title?.includes(value))
  // Skip flights: their front shows the airports, times, and flight number instead of fields.
  if (kind !== 'flight' && !isRowShown && !isTitleShown) {
    yield warn(
      'google-front-empty',
      ['design', 'fields'],
      'The front of the pass in Google Wallet shows none of its fields: add header, primary, secondary or ' +
        'auxiliary fields',
    )
  }
  for (const [text, key, path] of namesOf({ definition, passType, kind, view })) {
    const length = [...text].length
    if (length <= MAX_GOOGLE_NAME) continue
    yield warn(
      'text-cut',
      path,
      `Google Wallet can cut ${quote(text)} (${key}) on small phones: it has ${length} characters, and Google ` +
        `recommends at most ${MAX_GOOGLE_NAME}`,
    )
  }
}

/** For each of Apple's flight tags, the fact of the trip that sets the tag, with the values that Google accepts. */
const ofTrip: Record<string, string> = {
  airlineCode: 'carrier.code (two letters or digits, IATA)',
  flightNumber: 'number (one to four digits)',
  departureAirportCode: 'from.code (three letters, IATA)',
  destinationAirportCode: 'to.code (three letters, IATA)',
  'originalDepartureDate with its offset': 'departsAt with its offset',
}

/** Yields the names at the top of the card, for which Google recommends a maximum length. */
function* namesOf(facts: { definition: Definition; passType: PassType; kind: GoogleKind; view: GoogleView }) {
  const { definition, kind, view } = facts
  const place = (key: string, ...otherwise: string[]) =>
    definition.google?.class?.[key] === undefined ? otherwise : ['google', 'class', key]
  if (kind !== 'generic') yield [view.name, 'issuerName', place('issuerName', 'design', 'organizationName')] as const
  if (kind === 'loyalty' && view.title !== null) {
    const text = definition.design.logoText === undefined ? 'description' : 'logoText'
    yield [view.title, 'programName', place('programName', 'design', text)] as const
  }
}
