import { z } from 'zod'
import { type BarcodeFormat, PassType } from '../../../core/contract/definition.ts'
import { findUndrawable, isLatin1 } from '../../../core/rules/template/barcode.ts'
import { Semantics } from './semantic-tags.ts'
import {
  Address,
  boolean,
  Color,
  Currency,
  isW3cDate,
  NfcKey,
  NfcMessage,
  number,
  oneOf,
  Place,
  StoreIdentifiers,
  text,
  W3cDate,
  WebAddress,
} from './value-types.ts'

/**
 * The schema of pass.json, according to the rules of Apple's own open pass-builder. Types are strict: phones silently
 * reject a wrong one. Rules (issues with the code `custom`) restrict texts or numbers further. Unknown keys are
 * accepted, since each iOS version adds some.
 */

const value = z.union([text, number])
const DateStyle = oneOf(
  'PKDateStyleNone',
  'PKDateStyleShort',
  'PKDateStyleMedium',
  'PKDateStyleLong',
  'PKDateStyleFull',
)

/** A field of pass.json (PassFieldContent). Unknown keys are accepted. */
export const Field = z
  .looseObject({
    key: text,
    value,
    label: text.optional(),
    changeMessage: text.optional(),
    attributedValue: value.optional(),
    dateStyle: DateStyle.optional(),
    timeStyle: DateStyle.optional(),
    isRelative: boolean.optional(),
    ignoresTimeZone: boolean.optional(),
    numberStyle: oneOf(
      'PKNumberStyleDecimal',
      'PKNumberStylePercent',
      'PKNumberStyleScientific',
      'PKNumberStyleSpellOut',
    ).optional(),
    currencyCode: Currency.optional(),
    textAlignment: oneOf(
      'PKTextAlignmentLeft',
      'PKTextAlignmentCenter',
      'PKTextAlignmentRight',
      'PKTextAlignmentNatural',
    ).optional(),
    dataDetectorTypes: z
      .array(
        oneOf(
          'PKDataDetectorTypePhoneNumber',
          'PKDataDetectorTypeLink',
          'PKDataDetectorTypeAddress',
          'PKDataDetectorTypeCalendarEvent',
        ),
      )
      .optional(),
    row: number.refine((row) => row === 0 || row === 1, 'Must be 0 or 1').optional(),
    semantics: Semantics.optional(),
  })
  .superRefine((field, context) => {
    // A field without a value is not shown.
    if (String(field.value).trim() === '') return
    const report = (message: string) => context.addIssue({ code: 'custom', path: ['value'], message })
    if (isNumberField(field) && typeof field.value !== 'number') {
      report('Must be a number, since numberStyle or currencyCode is set')
    }
    if (isDateField(field) && !isW3cDate(field.value)) {
      report(
        'Must be a date and time with an offset, such as 2027-05-31T19:30+02:00, since dateStyle or timeStyle is set',
      )
    }
  })

/** Whether phones format the value of a field as a number. */
export function isNumberField(field: Record<string, unknown>): boolean {
  return field.numberStyle !== undefined || field.currencyCode !== undefined
}

function isDateField({ dateStyle, timeStyle }: { dateStyle?: string | undefined; timeStyle?: string | undefined }) {
  return dateStyle !== undefined || timeStyle !== undefined
}

/** The names of field groups in pass.json. */
const groups = [
  'headerFields',
  'primaryFields',
  'secondaryFields',
  'auxiliaryFields',
  'backFields',
  'footerFields',
  'additionalInfoFields',
] as const

const Fields = z.array(Field).optional()

const Style = z
  .looseObject({
    headerFields: Fields,
    primaryFields: Fields,
    secondaryFields: Fields,
    auxiliaryFields: Fields,
    backFields: Fields,
    footerFields: Fields,
    additionalInfoFields: Fields,
    transitType: oneOf(
      'PKTransitTypeAir',
      'PKTransitTypeBoat',
      'PKTransitTypeBus',
      'PKTransitTypeGeneric',
      'PKTransitTypeTrain',
    ).optional(),
  })
  .superRefine((style, context) => {
    const taken = new Set<string>()
    for (const group of groups) {
      style[group]?.forEach(({ key }, index) => {
        if (taken.has(key)) {
          context.addIssue({
            code: 'custom',
            path: [group, index, 'key'],
            message: `Two fields have the key "${key}"`,
            params: { isRefusedByPhones: true },
          })
        }
        taken.add(key)
      })
    }
  })

/** The names of barcode formats in pass.json. */
export const barcodeFormats: Record<BarcodeFormat, string> = {
  qr: 'PKBarcodeFormatQR',
  pdf417: 'PKBarcodeFormatPDF417',
  aztec: 'PKBarcodeFormatAztec',
  code128: 'PKBarcodeFormatCode128',
}

const drawn = new Map(Object.entries(barcodeFormats).map(([format, name]) => [name, format as BarcodeFormat]))

const Barcode = z
  .looseObject({
    format: oneOf(
      ...Object.values(barcodeFormats),
      'PKBarcodeFormatCode39',
      'PKBarcodeFormatCodabar',
      'PKBarcodeFormatEAN13',
      'PKBarcodeFormatI2of5',
    ),
    message: text.min(1),
    messageEncoding: text,
    altText: text.optional(),
  })
  .superRefine(({ format, message, messageEncoding }, context) => {
    const report = (reason: string) => context.addIssue({ code: 'custom', path: ['message'], message: reason })
    const known = drawn.get(format)
    const reason = known && findUndrawable(known, message)
    if (reason) report(`Cannot be drawn: it ${reason}`)
    else if (messageEncoding.toLowerCase() === 'iso-8859-1' && !isLatin1(message)) {
      report('Contains characters that iso-8859-1 does not have: set messageEncoding to utf-8')
    }
  })

const Location = Place.extend({ altitude: number.optional(), relevantText: text.optional() })

const ofBeacon = number.refine(
  (value) => Number.isInteger(value) && value >= 0 && value <= 65_535,
  'Must be 0 to 65535',
)

const Beacon = z.looseObject({
  proximityUUID: text.refine(
    (value) => /^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/.test(value),
    'Must be a UUID',
  ),
  major: ofBeacon.optional(),
  minor: ofBeacon.optional(),
  relevantText: text.optional(),
})

const DAY_MS = 86_400_000

/** A time or range in which phones suggest the pass. */
export const RelevantDate = z
  .looseObject({
    date: W3cDate.optional(),
    relevantDate: W3cDate.optional(),
    startDate: W3cDate.optional(),
    endDate: W3cDate.optional(),
  })
  .superRefine(({ date, relevantDate, startDate, endDate }, context) => {
    const report = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message })
    if ((startDate === undefined) !== (endDate === undefined)) report([], 'Needs startDate and endDate')
    else if (startDate === undefined && date === undefined && relevantDate === undefined) {
      report([], 'Needs a date, or startDate and endDate')
    }
    const length = Date.parse(endDate ?? '') - Date.parse(startDate ?? '')
    if (length < 0) report(['endDate'], 'Must not be before startDate')
    if (length > DAY_MS) report(['endDate'], 'Must be at most 24 hours after startDate')
  })

const addresses = [
  'accessibilityURL',
  'addOnURL',
  'bagPolicyURL',
  'changeSeatURL',
  'contactVenueWebsite',
  'directionsInformationURL',
  'entertainmentURL',
  'managementURL',
  'merchandiseURL',
  'orderFoodURL',
  'parkingInformationURL',
  'purchaseAdditionalBaggageURL',
  'purchaseLoungeAccessURL',
  'purchaseParkingURL',
  'purchaseWifiURL',
  'registerServiceAnimalURL',
  'reportLostBagURL',
  'requestWheelchairURL',
  'sellURL',
  'transferURL',
  'transitInformationURL',
  'transitProviderWebsiteURL',
  'upgradeURL',
]

const texts = [
  'contactVenueEmail',
  'contactVenuePhoneNumber',
  'eventLogoText',
  'groupingIdentifier',
  'logoText',
  'transitProviderEmail',
  'transitProviderPhoneNumber',
]
const colors = ['backgroundColor', 'foregroundColor', 'labelColor', 'stripColor', 'footerBackgroundColor']
const switches = ['sharingProhibited', 'suppressHeaderDarkening', 'suppressStripShine', 'useAutomaticColors', 'voided']

const all = (keys: readonly string[], type: z.ZodType) => Object.fromEntries(keys.map((key) => [key, type.optional()]))

/** The keys that a definition can override, with their types. */
const shape = {
  ...all(texts, text),
  ...all(colors, Color),
  ...all(switches, boolean),
  ...all(addresses, WebAddress),
  ...all(PassType.options, Style),
  organizationName: text.optional(),
  description: text.optional(),
  relevantDate: W3cDate.optional(),
  relevantDates: z.array(RelevantDate).optional(),
  barcode: Barcode.optional(),
  barcodes: z.array(Barcode).optional(),
  locations: z.array(Location).max(10).optional(),
  beacons: z.array(Beacon).max(10).optional(),
  maxDistance: number.refine((meters) => meters > 0, 'Must be more than 0').optional(),
  nfc: z
    .looseObject({ message: NfcMessage, encryptionPublicKey: NfcKey, requiresAuthentication: boolean.optional() })
    .optional(),
  associatedStoreIdentifiers: StoreIdentifiers.optional(),
  auxiliaryStoreIdentifiers: StoreIdentifiers.optional(),
  appLaunchURL: Address.optional(),
  preferredStyleSchemes: z
    .array(oneOf('posterEventTicket', 'eventTicket', 'semanticBoardingPass', 'boardingPass'))
    .optional(),
  userInfo: z.looseObject({}).optional(),
  semantics: Semantics.optional(),
}

/** The keys that a template can add to pass.json (`apple` of its definition). */
export const Overrides = z.looseObject(shape).superRefine(({ appLaunchURL, associatedStoreIdentifiers }, context) => {
  if (appLaunchURL === undefined || (Array.isArray(associatedStoreIdentifiers) && associatedStoreIdentifiers[0])) return
  const message = 'Needs associatedStoreIdentifiers: the App Store numbers of the apps that it may open'
  context.addIssue({ code: 'custom', path: ['appLaunchURL'], message })
})

/** A whole pass.json, as in a package. */
export const PassJson = z.looseObject({
  ...shape,
  formatVersion: z.literal(1),
  passTypeIdentifier: text.min(1),
  teamIdentifier: text.min(1),
  serialNumber: text.min(1),
  organizationName: text.min(1),
  description: text.min(1),
  webServiceURL: text.optional(),
  authenticationToken: text.min(16).optional(),
  expirationDate: text.optional(),
})

/**
 * Whether phones reject the whole pass because of the issue. Other rules are only enforced when a version is published
 * and when a pass is created, so that older versions keep working.
 */
export function isRefusedByPhones(issue: z.core.$ZodIssue): boolean {
  return issue.code !== 'custom' || issue.params?.isRefusedByPhones === true
}
