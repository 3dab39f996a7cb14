import { z } from 'zod'
import { barcodeFormatOf } from '../../barcode-formats.ts'
import { isJsonObject } from '../../json.ts'
import { UNSAID_LANGUAGE } from '../template/definition-languages.ts'
import type { Card, CardField } from './card.ts'
import { formatValue, type ValueLocale, withoutTrailingZeros } from './format-value.ts'
import { nearestLanguage } from './language-match.ts'
import { lenient, nativeRows, walletLabel } from './native-rows.ts'

/** Google Wallet shows at most this many text modules and this many links of an object. */
export const MAX_GOOGLE_MODULES = 10

export interface GoogleView {
  /** The language of the texts (BCP 47). `undefined` if the definition names no language. */
  language?: string | undefined
  /** The issuer, in the top line of the card. */
  name: string
  title: string | null
  subtitle: string | null
  background: string | null
  /** The rows on the front of the card: those of the class or, if it has none, Google's default rows. */
  rows: CardField[][]
  /** The fields that appear only in the details. */
  details: CardField[]
  links: Card['links']
  barcode: Card['barcode']
  /** The state of the object: ACTIVE, or why the pass is no longer valid, such as EXPIRED or INACTIVE. */
  state: string
}

const text = lenient(z.string())
const textOrEmpty = z.string().default('')
const TextModule = z.object({ id: textOrEmpty, header: textOrEmpty, body: textOrEmpty })
const Airport = lenient(z.object({ airportIataCode: z.string() }).transform(({ airportIataCode }) => airportIataCode))
const Money = z.object({ micros: z.string().regex(/^-?\d{1,19}$/), currencyCode: z.string() })
const Balance = z.object({
  int: z.number().optional(),
  double: z.number().optional(),
  string: z.string().optional(),
  money: Money.optional(),
})
const Visible = z.object({
  cardTitle: text,
  issuerName: text,
  eventName: text,
  programName: text,
  title: text,
  provider: text,
  merchantName: text,
  header: text,
  subheader: text,
  state: z.string().default('active'),
  hexBackgroundColor: z
    .string()
    .regex(/^#[0-9a-f]{6}$/i)
    .nullable()
    .catch(null),
  barcode: lenient(z.object({ type: z.string(), value: z.string(), alternateText: z.string().optional() })),
  textModulesData: z.array(TextModule).catch([]),
  linksModuleData: z
    .object({ uris: z.array(z.object({ uri: z.string(), description: z.string().optional() })) })
    .catch({ uris: [] }),
  ticketLeg: lenient(z.object({ originName: text, destinationName: text })),
  origin: Airport,
  destination: Airport,
  flightHeader: lenient(z.object({ carrier: z.object({ carrierIataCode: textOrEmpty }), flightNumber: z.string() })),
  loyaltyPoints: lenient(z.object({ label: textOrEmpty, balance: Balance })),
  balance: lenient(Money.transform((money) => ({ money }))),
  classTemplateInfo: z.unknown().optional(),
})

/**
 * Reads a class and one of its objects as a phone in the given language (default English) does. Omits invalid values.
 * @param spoken the language of the labels that come from the phone; by default `language`
 */
export function readGoogleView(
  ofClass: unknown,
  object: unknown,
  language?: string,
  spoken: string = language ?? UNSAID_LANGUAGE,
): GoogleView {
  const locale = { language: spoken }
  const inTexts = language ?? UNSAID_LANGUAGE
  const [readClass, readObject] = [ofClass, object].map((resource) => googleTexts(resource, inTexts))
  const own = Visible.parse(readObject)
  const common = Visible.parse(readClass)
  const modules = new Map(own.textModulesData.map((module) => [module.id, toField(module)]))
  for (const [path, field] of nativeFields(own, locale)) modules.set(path, field)
  const native = nativeRows(readClass, readObject, locale)
  const rows = templateRows(common.classTemplateInfo)
  const onFront = new Set(rows.flat())
  return {
    ...(language !== undefined && { language }),
    name: own.cardTitle ?? common.issuerName ?? common.provider ?? common.merchantName ?? '',
    title:
      own.header ?? common.eventName ?? common.programName ?? common.title ?? journey(own.ticketLeg, common) ?? null,
    subtitle: own.subheader ?? flightNumber(common) ?? null,
    background: own.hexBackgroundColor ?? common.hexBackgroundColor,
    rows: rows.length > 0 ? rows.map((ids) => ids.flatMap((id) => modules.get(id) ?? [])) : native,
    details: [
      ...(rows.length > 0 ? native.flat() : []),
      ...own.textModulesData.filter(({ id }) => !onFront.has(id)).map(toField),
    ],
    links: own.linksModuleData.uris.map(({ uri, description }) => ({
      label: description ?? walletLabel('link', locale.language),
      url: uri,
    })),
    barcode: {
      format: barcodeFormatOf('google', own.barcode?.type) ?? 'qr',
      message: own.barcode?.value ?? '',
      altText: own.barcode?.alternateText ?? null,
    },
    state: own.state.toUpperCase(),
  }
}

/** Yields the fields for loyalty points and a balance, with the paths by which rows of the class refer to them. */
function* nativeFields(
  { loyaltyPoints, balance }: Seen,
  locale: ValueLocale,
): Generator<[path: string, field: CardField]> {
  const amountIn = ({ string, int, double, money }: z.output<typeof Balance>): string => {
    if (money) return formatValue(amountOf(money), { as: 'currency', currency: money.currencyCode }, locale)
    const number = int ?? double
    return number === undefined ? (string ?? '') : formatValue(String(number), { as: 'number' }, locale)
  }
  if (loyaltyPoints) {
    const { label, balance: points } = loyaltyPoints
    yield ['object.loyaltyPoints.balance', { key: 'points', label, value: amountIn(points) }]
  }
  if (balance) {
    const { language: labelLanguage } = locale
    const label = walletLabel('balance', labelLanguage)
    yield ['object.balance', { key: 'balance', label, labelLanguage, value: amountIn(balance) }]
  }
}

/** Returns an amount as a decimal number. Google writes amounts in millionths (`micros`). */
function amountOf({ micros }: z.output<typeof Money>): string {
  const digits = micros.replace('-', '').padStart(7, '0')
  const fraction = withoutTrailingZeros(digits.slice(-6))
  const amount = `${BigInt(digits.slice(0, -6))}${fraction && `.${fraction}`}`
  return micros.startsWith('-') ? `-${amount}` : amount
}

type Seen = z.output<typeof Visible>

function journey(leg: Seen['ticketLeg'], { origin, destination }: Seen): string | undefined {
  const from = leg?.originName ?? origin
  const to = leg?.destinationName ?? destination
  return from && to ? `${from} → ${to}` : undefined
}

function flightNumber({ flightHeader }: Seen): string | undefined {
  return flightHeader && `${flightHeader.carrier.carrierIataCode} ${flightHeader.flightNumber}`.trim()
}

const TEXT_MODULE = /^object\.textModulesData\['([^']+)'\]$/

/** Returns the rows of a class template. Each field is the ID of a text module, or the path of another field. */
function templateRows(info: unknown): string[][] {
  const rows = z
    .object({ cardTemplateOverride: z.object({ cardRowTemplateInfos: z.array(z.unknown()) }) })
    .safeParse(info).data?.cardTemplateOverride.cardRowTemplateInfos
  return (rows ?? []).map((row) => fieldPaths(row).map((path) => TEXT_MODULE.exec(path)?.[1] ?? path))
}

function fieldPaths(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'fieldPath' && typeof inner === 'string' ? [inner] : fieldPaths(inner),
  )
}

function toField({ id, header, body }: z.output<typeof TextModule>): CardField {
  return { key: id, label: header, value: body }
}

/**
 * Returns a Google resource with its texts in one language. A text in several languages is reduced to the nearest
 * language, or else the default language, and replaces the single-language text of the same name.
 */
export function googleTexts(resource: unknown, language: string): unknown {
  if (Array.isArray(resource)) return resource.map((item) => googleTexts(item, language))
  if (!isJsonObject(resource)) return resource
  if (isJsonObject(resource.defaultValue)) return textIn(resource, resource.defaultValue, language)
  const read = new Map(Object.entries(resource).map(([key, value]) => [key, googleTexts(value, language)]))
  for (const [key, text] of [...read]) {
    if (!key.startsWith(LOCALIZED) || typeof text !== 'string') continue
    const name = key.slice(LOCALIZED.length)
    read.set(`${name.charAt(0).toLowerCase()}${name.slice(1)}`, text)
  }
  return Object.fromEntries(read)
}

const LOCALIZED = 'localized'

type Texts = Record<string, unknown>

function textIn({ translatedValues }: Texts, original: Texts, language: string): unknown {
  const translations = (Array.isArray(translatedValues) ? translatedValues : []).filter(isJsonObject)
  const texts = new Map([original, ...translations].map((text) => [String(text.language), text.value] as const))
  const found = nearestLanguage([language], [...texts.keys()])
  return found ? texts.get(found.language) : original.value
}
