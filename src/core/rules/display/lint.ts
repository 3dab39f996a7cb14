import { barcodeFormats, googleFormatOf } from '../../barcode-formats.ts'
import type {
  Definition,
  FieldGroup,
  GoogleKind,
  ImageRole,
  PassType,
  Warning,
  WarningCode,
} from '../../contract/schemas/definition.ts'
import { MAX_ISSUES } from '../../errors.ts'
import { exampleMessage } from '../template/barcode.ts'
import { missingTranslations, writtenOf } from '../template/definition-languages.ts'
import { fillDeep, placeholdersDeep } from '../template/placeholder.ts'
import { exampleScope } from '../template/resolve.ts'
import { aboutOf, appleKeys, missingSemanticTags, semanticBoardingTags } from './about.ts'
import {
  type FrontField,
  type FrontRow,
  layOutFront,
  logoTextWidth,
  roomForLogoText,
  saysSomething,
} from './apple-front.ts'
import type { Card, CardField } from './card.ts'
import { cardColors, colorVariants, contrast, MIN_CONTRAST } from './colors.ts'
import { missingOfFlight } from './flight.ts'
import { type GoogleView, MAX_GOOGLE_MODULES } from './google-view.ts'
import { hiddenImages, type ImageTypes } from './hidden-images.ts'

export interface PixelSize {
  width: number
  height: number
}

export interface LintFacts {
  definition: Definition
  passType: PassType
  /** A sample with long values as an iPhone shows it. `null` if the server does not issue for Apple. */
  apple: Card | null
  /** The same sample as Google Wallet shows it, with the neutral card that it was made from. */
  google: { kind: GoogleKind; needsLogo: boolean; card: Card; view: GoogleView; hidden: CardField[] } | null
  /** The sizes of uploaded images by role, if known. */
  images: Partial<Record<ImageRole, PixelSize>>
  /** The largest size at which wallets show an image, by role. */
  wantedPixels: Partial<Record<ImageRole, PixelSize>>
  imageTypes?: ImageTypes
}

/** Returns at most 100 warnings about problems that holders would see, without those that the definition accepts. */
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
  yield* lintFields(facts)
  yield* lintImages(facts)
  yield* lintBoarding(facts)
  yield* lintGoogle(facts)
  yield* lintBarcode(facts)
  for (const { what, path, language } of missingTranslations(writtenOf(facts.definition))) {
    yield warn('translation-missing', path, `Has no ${what} in ${language}: holders see the default language instead`)
  }
}

function* lintColors({ definition, apple }: LintFacts): Generator<Warning> {
  if (!apple) return
  const front = layOutFront(apple).flatMap(({ fields }) => fields)
  const isWritten = {
    foreground: apple.logoText !== null || front.some(({ value }) => value.trim() !== ''),
    label: front.some(({ label }) => label.trim() !== ''),
  }
  const isOverride = (role: ColorRole) => definition.apple?.[`${role}Color`] !== undefined
  const variants = colorVariants(definition.design.colors)
  for (const { keys, colors } of variants) {
    const shown = variants.length === 1 ? apple.colors : withOverrides(colors, apple.colors, isOverride)
    const { background, ...texts } = cardColors(shown)
    const state = keys.length > 0 ? ` if the state is ${keys.join(', ')}` : ''
    for (const role of ['foreground', 'label'] as const) {
      const ratio = contrast(texts[role], background)
      if (!isWritten[role] || ratio >= MIN_CONTRAST) continue
      yield warn(
        'contrast-low',
        isOverride(role) ? ['apple', `${role}Color`] : ['design', 'colors', role],
        `${COLORED[role]} in ${texts[role]} on ${background} have a contrast of ${ratio.toFixed(2)}${state}, ` +
          `below the minimum of ${MIN_CONTRAST} for readable text: choose a ${role} or a background with more ` +
          'contrast',
      )
    }
  }
}

type ColorRole = keyof Card['colors']

/** An override takes precedence over the design, in each state. */
function withOverrides(colors: Card['colors'], shown: Card['colors'], isOverride: (role: ColorRole) => boolean) {
  const pick = (role: ColorRole) => (isOverride(role) ? shown : colors)[role]
  return { background: pick('background'), foreground: pick('foreground'), label: pick('label') }
}

const COLORED = { foreground: 'Values', label: 'Labels' }

function* lintFields({ definition, passType, apple, images }: LintFacts): Generator<Warning> {
  if (!apple) return
  const rows = layOutFront(apple)
  for (const row of rows) {
    if (row.surplus.length > 0) yield surplusWarning(definition, passType, row)
    for (const field of row.fields) {
      if (field.width > field.room) yield cutWarning(definition, passType, field)
    }
  }
  const { logo } = images
  const room = roomForLogoText(apple, rows[0]!, logo && logo.width / logo.height)
  const width = logoTextWidth(apple.logoText ?? '')
  if (width > room) {
    yield warn(
      'text-cut',
      definition.apple?.logoText === undefined ? ['design', 'logoText'] : ['apple', 'logoText'],
      `An iPhone cuts ${quote(apple.logoText!)}: it is about ${Math.round(width)} points wide, and the logo ` +
        `and the header leave ${Math.round(room)}. Shorten it, or remove it if the logo contains the name`,
    )
  }
}

function surplusWarning(definition: Definition, passType: PassType, { name, max, surplus }: FrontRow): Warning {
  const groups =
    name === 'secondary' && surplus.some(({ group }) => group === 'auxiliary')
      ? 'secondary and auxiliary fields together'
      : `${name} ${max === 1 ? 'field' : 'fields'}`
  const keys = surplus.map(({ key }) => key).join(', ')
  return warn(
    'fields-over',
    pathOf(definition, passType, surplus[0]!),
    `An iPhone shows ${max} ${groups} on this pass, so these are not shown: ${keys}. Move them to the back, ` +
      'or remove them',
  )
}

function cutWarning(definition: Definition, passType: PassType, field: FrontField): Warning {
  const { label, value, width, room } = field
  return warn(
    'text-cut',
    pathOf(definition, passType, field),
    `An iPhone cuts ${quote(value || label)}: ${label && value ? `with its label ${quote(label)} it` : 'it'} ` +
      `is about ${Math.round(width)} points wide, and the row leaves ${Math.round(room)}. Shorten it, show ` +
      'fewer fields in the row, or move it to the back. A variable is tested with the longer of its example ' +
      'and default, else at its maxLength',
  )
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
    // An image is scaled to fit its frame, so it is sharp if one of its sides is large enough.
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

/** The length that Google recommends for names at the top of the card. */
const MAX_GOOGLE_NAME = 20

function* lintGoogle({ definition, passType, google }: LintFacts): Generator<Warning> {
  if (!google) return
  const { kind, card, view } = google
  const { header, primary, secondary, auxiliary, back } = card.fields
  const front = [header, primary, secondary, auxiliary].flat().filter(saysSomething)
  // The first primary field of a generic pass is its title.
  const title = kind === 'generic' ? primary[0] : undefined
  const modules = [...front, ...back].filter((field) => field !== title && field.value.trim() !== '')
  if (modules.length > MAX_GOOGLE_MODULES) {
    const path = pathIn(definition, modules[MAX_GOOGLE_MODULES]!.key) ?? ['design', 'fields']
    yield warn(
      'google-modules-over',
      path,
      `Google Wallet shows ${MAX_GOOGLE_MODULES} fields of a pass in addition to its title, and this one has ` +
        `${modules.length}. The last back fields share one field, one line each: combine some yourself, or ` +
        'remove them',
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
      'Google shows this pass as a transit ticket, not as a flight: add to ' +
        `${isTrip ? 'the trip' : 'apple.semantics'} ` +
        `${missing.map((tag) => (isTrip ? ofTrip[tag] : tag)).join(', ')}${isTrip ? '' : ', without variables or with google.classKey'}, ` +
        'or set google.kind',
    )
  }
  const isRowShown = view.rows.some((row) => row.some(saysSomething))
  const isTitleShown = front.some(({ value }) => value.trim() !== '' && view.title?.includes(value))
  // A flight has a dedicated front: its airports, times, and number.
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

function* lintBarcode({ definition, google }: LintFacts): Generator<Warning> {
  const { barcode } = definition.design
  if (!google || !barcode || definition.google?.object?.barcode !== undefined) return
  const { text, isComplete } = exampleMessage(definition)
  const shown = googleFormatOf(barcode.format, text)
  if (!isComplete || text === '' || shown === barcode.format) return
  const { google: name, googleNeeds } = barcodeFormats[barcode.format]
  yield warn(
    'barcode-fallback',
    ['design', 'barcode', 'message'],
    `Google Wallet shows ${quote(text)} as a ${barcodeFormats[shown].name}: its ${name} needs ${googleNeeds?.what}`,
  )
}

/** Names the facts that a trip by air lacks. A variable without an example is assumed to have a valid value. */
function* lintBoarding({ definition, passType, apple }: LintFacts): Generator<Warning> {
  const { trip } = definition
  if (!apple || passType !== 'boardingPass' || trip?.mode !== 'air') return
  const scope = exampleScope(definition)
  const keys = appleKeys(aboutOf(definition, scope), fillDeep(definition.apple ?? {}, scope))
  for (const tag of missingSemanticTags(keys)) {
    const [fact, part = ''] = semanticBoardingTags[tag]
    const written = trip[fact]
    const text = typeof written === 'object' ? new Map(Object.entries(written)).get(part) : written
    if ([...placeholdersDeep(text)].some(({ name }) => !scope.has(name))) continue
    const path = ['trip', ...semanticBoardingTags[tag]]
    yield warn(
      'semantic-boarding-data-missing',
      path,
      `iPhones show the classic boarding pass instead of the semantic one of iOS 26: add ${path.join('.')}`,
    )
  }
}

/** The trip facts by Apple's flight tags, with the values that Google accepts. */
const ofTrip: Record<string, string> = {
  airlineCode: 'carrier.code (two letters or digits, IATA)',
  flightNumber: 'number (one to four digits)',
  departureAirportCode: 'from.code (three letters, IATA)',
  destinationAirportCode: 'to.code (three letters, IATA)',
  'originalDepartureDate with its offset': 'departsAt with its offset',
}

/** The texts at the top of the card for which Google recommends a length. */
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

function pathOf(definition: Definition, passType: PassType, { key, group }: FrontField): Warning['path'] {
  return pathIn(definition, key) ?? ['apple', passType, `${group}Fields`]
}

/** Returns the path of the field with this key in the design, or `undefined` if the field comes from an override. */
function pathIn({ design }: Definition, key: string): Warning['path'] | undefined {
  for (const [group, fields] of Object.entries(design.fields) as [FieldGroup, { key: string }[]][]) {
    const index = fields.findIndex((field) => field.key === key)
    if (index >= 0) return ['design', 'fields', group, index]
  }
  return undefined
}

const MAX_QUOTED = 40

function quote(text: string): string {
  const chars = [...text]
  return `“${chars.length > MAX_QUOTED ? `${chars.slice(0, MAX_QUOTED - 1).join('')}…` : text}”`
}

function warn(code: WarningCode, path: Warning['path'], message: string): Warning {
  return { code, path: ['definition', ...path], message }
}
