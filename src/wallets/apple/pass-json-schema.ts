import { z } from 'zod'
import { PassType } from '../../core/contract/definition.ts'

/**
 * What a phone insists on in pass.json. It refuses a wrong JSON type without a word, so a definition's overrides are
 * held against this before a pass is called issued. Keys that are not named here pass as they are.
 */
const value = z.union([z.string(), z.number()])

const Field = z.looseObject({
  key: z.string(),
  value,
  label: z.string().optional(),
  changeMessage: z.string().optional(),
  attributedValue: value.optional(),
  dateStyle: z.string().optional(),
  timeStyle: z.string().optional(),
  isRelative: z.boolean().optional(),
  ignoresTimeZone: z.boolean().optional(),
  numberStyle: z.string().optional(),
  currencyCode: z.string().optional(),
  textAlignment: z.string().optional(),
  dataDetectorTypes: z.array(z.string()).optional(),
})

const Fields = z.array(Field).optional()

const Style = z
  .looseObject({
    headerFields: Fields,
    primaryFields: Fields,
    secondaryFields: Fields,
    auxiliaryFields: Fields,
    backFields: Fields,
    transitType: z.string().optional(),
  })
  .superRefine(({ headerFields, primaryFields, secondaryFields, auxiliaryFields, backFields }, context) => {
    const taken = new Set<string>()
    for (const group of [headerFields, primaryFields, secondaryFields, auxiliaryFields, backFields]) {
      for (const { key } of group ?? []) {
        if (taken.has(key)) context.addIssue({ code: 'custom', message: `Two fields have the key "${key}"` })
        taken.add(key)
      }
    }
  })

const Barcode = z.looseObject({
  format: z.string(),
  message: z.string().min(1),
  messageEncoding: z.string(),
  altText: z.string().optional(),
})

const Location = z.looseObject({
  latitude: z.number(),
  longitude: z.number(),
  altitude: z.number().optional(),
  relevantText: z.string().optional(),
})

const text = z.string().optional()

export const PassJson = z.looseObject({
  formatVersion: z.literal(1),
  passTypeIdentifier: z.string().min(1),
  teamIdentifier: z.string().min(1),
  serialNumber: z.string().min(1),
  organizationName: z.string().min(1),
  description: z.string().min(1),
  webServiceURL: text,
  authenticationToken: z.string().min(16).optional(),
  logoText: text,
  backgroundColor: text,
  foregroundColor: text,
  labelColor: text,
  groupingIdentifier: text,
  relevantDate: text,
  expirationDate: text,
  relevantDates: z.array(z.looseObject({ date: text, startDate: text, endDate: text })).optional(),
  barcodes: z.array(Barcode).optional(),
  locations: z.array(Location).max(10).optional(),
  beacons: z.array(z.looseObject({ proximityUUID: z.string() })).optional(),
  maxDistance: z.number().optional(),
  nfc: z.looseObject({ message: z.string(), encryptionPublicKey: z.string() }).optional(),
  associatedStoreIdentifiers: z.array(z.number()).optional(),
  appLaunchURL: text,
  userInfo: z.looseObject({}).optional(),
  semantics: z.looseObject({}).optional(),
  sharingProhibited: z.boolean().optional(),
  suppressStripShine: z.boolean().optional(),
  voided: z.boolean().optional(),
  ...Object.fromEntries(PassType.options.map((style) => [style, Style.optional()])),
})
