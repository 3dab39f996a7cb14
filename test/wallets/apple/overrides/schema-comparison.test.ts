import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import table from '../../../../src/wallets/apple/overrides/field-table.json' with { type: 'json' }
import passBuilder from './pass-builder-keys.json' with { type: 'json' }

/** Compares the keys that overrides can have, type by type, with Apple's pass-builder and with passkit-generator. */

// The package does not export its schemas.
const schemas = join(import.meta.dirname, '../../../../node_modules/passkit-generator/lib/cjs/schemas/index.js')
const { PassProps } = createRequire(import.meta.url)(schemas)

type KeysByType = Record<string, readonly string[]>

const ours: KeysByType = Object.fromEntries(
  Object.entries(table.types).map(([name, keys]) => [name, Object.keys(keys)]),
)

interface Description {
  type: string
  keys?: Record<string, Description>
  items?: Description[]
}

/** The keys of passkit-generator, by the types of our table. */
function passkitGenerator(): KeysByType {
  const pass: Description = PassProps.describe()
  const at = (...path: string[]) => path.reduce((found, key) => (found.keys ?? found.items![0]!.keys!)[key]!, pass)
  const keysAt = (...path: string[]) => {
    const found = at(...path)
    return Object.keys(found.keys ?? found.items![0]!.keys!)
  }
  const upcoming = 'upcomingPassInformation'
  return {
    Pass: Object.keys(pass.keys!),
    Style: keysAt('generic'),
    PosterStyle: keysAt('posterGeneric'),
    Field: keysAt('generic', 'auxiliaryFields'),
    FeaturedAction: keysAt('featuredActions'),
    Semantics: keysAt('semantics'),
    CurrencyAmount: keysAt('semantics', 'balance'),
    Place: keysAt('semantics', 'venueLocation'),
    EventDateInfo: keysAt('semantics', 'eventStartDateInfo'),
    PersonName: keysAt('semantics', 'passengerName'),
    Seat: keysAt('semantics', 'seats'),
    WifiAccess: keysAt('semantics', 'wifiAccess'),
    Barcode: keysAt('barcodes'),
    Location: keysAt('locations'),
    Beacon: keysAt('beacons'),
    Nfc: keysAt('nfc'),
    UpcomingPass: keysAt(upcoming),
    UpcomingAddresses: keysAt(upcoming, 'URLs'),
    UpcomingDate: keysAt(upcoming, 'dateInformation'),
    UpcomingImages: keysAt(upcoming, 'images'),
    UpcomingImage: keysAt(upcoming, 'images', 'headerImage'),
    ImageAddress: keysAt(upcoming, 'images', 'headerImage', 'URLs'),
  }
}

/** Returns the keys of one side only, such as `+Field.row` for a key that only our table has. */
function differences(theirs: KeysByType): string[] {
  return Object.keys(theirs)
    .flatMap((name) => [
      ...(ours[name] ?? []).filter((key) => !theirs[name]!.includes(key)).map((key) => `+${name}.${key}`),
      ...theirs[name]!.filter((key) => !ours[name]?.includes(key)).map((key) => `-${name}.${key}`),
    ])
    .sort()
}

/** The keys that the service sets, which a definition cannot override. */
const reservedKeys = Object.fromEntries(
  [
    'authenticationToken',
    'expirationDate',
    'formatVersion',
    'passTypeIdentifier',
    'serialNumber',
    'teamIdentifier',
    'webServiceURL',
  ].map((key) => [`-Pass.${key}`, 'The service sets it'] as const),
)

const DOCUMENTED = "Apple's documentation has it, pass-builder does not"
const SPELLING = "pass-builder has another spelling than Apple's documentation, which phones follow"
const BOTH_SPELLINGS = "pass-builder's spelling of a tag; Apple's documentation has Location instead of Airport"
const IOS_18 = 'A key of iOS 18, which passkit-generator has, too'

/** The differences from Apple's pass-builder, each with its reason. */
const fromPassBuilder: Record<string, string> = {
  ...reservedKeys,
  '+FeaturedAction.placeIdentifier': 'The place that an action of the type place opens, according to passkit-generator',
  '+Field.row': DOCUMENTED,
  '+Field.semantics': DOCUMENTED,
  '+ImageAddress.SHA256': SPELLING,
  '-ImageAddress.sha256': SPELLING,
  '+ImageAddress.URL': SPELLING,
  '-ImageAddress.url': SPELLING,
  '+UpcomingImage.URLs': SPELLING,
  '-UpcomingImage.urls': SPELLING,
  '+UpcomingPass.URLs': SPELLING,
  '-UpcomingPass.urls': SPELLING,
  '+Pass.suppressStripShine': DOCUMENTED,
  '+Pass.trackBagsURL': DOCUMENTED,
  '+Pass.userInfo': DOCUMENTED,
  '+RelevantDate.relevantDate': 'iOS 18 reads this key, and iOS 26 reads date',
  '+Semantics.airplay': IOS_18,
  '+Semantics.departureLocationSecurityPrograms': DOCUMENTED,
  '+Semantics.departureLocationTimeZone': DOCUMENTED,
  '+Semantics.destinationLocationSecurityPrograms': DOCUMENTED,
  '+Semantics.destinationLocationTimeZone': DOCUMENTED,
  '+Semantics.eventLiveMessage': IOS_18,
  '+Semantics.loungePlaceIDs': DOCUMENTED,
  '+Semantics.membershipProgramStatus': DOCUMENTED,
  '+Semantics.venuePlaceID': 'passkit-generator has it in upcomingPassInformation',
}

const NO_ROW = 'A poster has no such row: an iPhone does not show the fields'

/** The differences from passkit-generator, each with its reason. */
const fromPasskitGenerator: Record<string, string> = {
  ...reservedKeys,
  '+Pass.barcode': 'Versions of iOS before 9 read it; pass-builder has it',
  '+Pass.logoSymbolName': 'pass-builder has it',
  '+Pass.trackBagsURL': "Apple's documentation has it",
  '-PosterStyle.auxiliaryFields': NO_ROW,
  '-PosterStyle.secondaryFields': NO_ROW,
  '-PosterStyle.transitType': 'Only a boarding pass has one, and passkit-generator rejects it, too',
  '+Semantics.airlineLoungePlaceID': "pass-builder's spelling of loungePlaceIDs",
  '+Semantics.departureAirportSecurityPrograms': BOTH_SPELLINGS,
  '+Semantics.departureAirportTimeZone': BOTH_SPELLINGS,
  '+Semantics.destinationAirportSecurityPrograms': BOTH_SPELLINGS,
  '+Semantics.destinationAirportTimeZone': BOTH_SPELLINGS,
  '+Semantics.venuePlaceID': 'passkit-generator has it only in upcomingPassInformation',
}

test("each difference from the keys of Apple's pass-builder has a reason", () => {
  expect(differences(passBuilder.types)).toEqual(Object.keys(fromPassBuilder).sort())
})

test('each difference from the keys of passkit-generator has a reason', () => {
  expect(differences(passkitGenerator())).toEqual(Object.keys(fromPasskitGenerator).sort())
})

test('the types of featured actions are those of passkit-generator', () => {
  const { items } = PassProps.describe().keys.featuredActions
  const pattern: string = items[0].keys.type.rules[0].args.regex
  expect(table.types.FeaturedAction.type.split('|')).toEqual(pattern.match(/\w+/g))
})
