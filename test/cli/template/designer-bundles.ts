import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { zipSync } from 'fflate'
import { plainPng } from '../../../src/files/plain-png.ts'
import { NFC_KEY } from '../../wallets/apple/overrides/override-samples.ts'

/** Templates as Pass Designer writes them, according to the sources of Pass Builder. */

type Files = Record<string, string | Uint8Array>

/** The identifiers that every template has, with an ID for each item of a list. */
const identity = {
  formatVersion: 1,
  passTypeIdentifier: 'pass.example.designer',
  teamIdentifier: 'TEAM123456',
  serialNumber: 'SAMPLE-SERIAL',
  authenticationToken: 'sample-token-of-16-characters',
  webServiceURL: 'https://designer.example/passes',
}
const _id = '6F1E2B9C-3D44-4E0B-9A57-0C1F5A3B2E10'
const field = (key: string, label: string, value: string | number, more: object = {}) => ({
  _id,
  key,
  label,
  value,
  textAlignment: 'PKTextAlignmentNatural',
  ...more,
})

const tooling = JSON.stringify({ designerVersion: '1.0', automaticallyGenerateCompatiblePass: true })
const at3x = (role: string, width: number, height: number, color = '#22313f') => ({
  [`${role}.png`]: plainPng(width, height, color),
  [`${role}@2x.png`]: plainPng(width * 2, height * 2, color),
  [`${role}@3x.png`]: plainPng(width * 3, height * 3, color),
})

const bundle = (pass: object, images: Files): Files => ({
  'pass.json': JSON.stringify({ ...identity, ...pass }, undefined, 2),
  'tooling.json': tooling,
  '.DS_Store': 'finder',
  ...images,
})

/** A membership that has only the poster of iOS 27. */
export const museum = bundle(
  {
    organizationName: 'Atlas Museum',
    description: 'Membership',
    logoText: 'Atlas',
    backgroundColor: 'rgb(34,49,63)',
    foregroundColor: '#fff',
    labelColor: 'rgb(243, 227, 195)',
    footerBackgroundColor: 'rgb(10,20,30)',
    sharingProhibited: true,
    posterGeneric: {
      headerFields: [field('level', 'MEMBER', 'Family')],
      primaryFields: [
        field('holder', 'NAME', 'Jane Appleseed'),
        field('since', 'SINCE', '2019-04-15T00:00:00Z', {
          dateStyle: 'PKDateStyleMedium',
          timeStyle: 'PKDateStyleNone',
          ignoresTimeZone: true,
        }),
        field('credit', 'CREDIT', 12.5, { currencyCode: 'EUR' }),
      ],
      footerFields: [field('number', 'CARD', '4006381333931')],
      backFields: [
        field('terms', 'Terms', 'One card per person.'),
        field('phone', 'Phone', '+351 210 000 000', { dataDetectorTypes: ['PKDataDetectorTypePhoneNumber'] }),
      ],
      additionalInfoFields: [field('hours', 'Hours', 'Tuesday to Sunday')],
    },
    barcodes: [
      {
        format: 'PKBarcodeFormatEAN13',
        message: '4006381333931',
        messageEncoding: 'iso-8859-1',
        altText: '4006381333931',
      },
      { format: 'PKBarcodeFormatQR', message: '4006381333931', messageEncoding: 'iso-8859-1' },
    ],
    featuredActions: [
      { _id, identifier: 'benefits', type: 'membershipBenefits', url: 'https://atlas.example/benefits' },
      { _id, identifier: 'broken', type: 'order' },
    ],
    locations: [{ latitude: 38.7, longitude: -9.1, altitude: 12, relevantText: 'Welcome' }],
    futureKey: { a: 1 },
  },
  { ...at3x('icon', 38, 38), ...at3x('artwork', 358, 448), ...at3x('primaryLogo', 126, 30) },
)

/** A poster ticket with semantic tags, in English and German. */
export const festival = bundle(
  {
    organizationName: 'Seaside Festival',
    description: 'Festival ticket',
    backgroundColor: 'rgb(20,30,80)',
    foregroundColor: 'rgb(255,255,255)',
    labelColor: 'rgb(200,210,255)',
    preferredStyleSchemes: ['posterEventTicket', 'eventTicket'],
    eventTicket: {
      primaryFields: [field('event', 'EVENT', 'Seaside 2027')],
      secondaryFields: [
        field('doors', 'DOORS', '2027-07-10T16:00:00+01:00', {
          dateStyle: 'PKDateStyleShort',
          timeStyle: 'PKDateStyleShort',
        }),
        field('gate', 'GATE', 'B'),
      ],
      auxiliaryFields: [field('info', 'INFO', 'Bring this ticket')],
      backFields: [field('age', 'Age', 'Adults only')],
    },
    semantics: {
      eventName: 'Seaside 2027',
      venueName: 'North Beach',
      venueRegionName: 'Cascais',
      venueRoom: 'Main stage',
      venueLocation: { latitude: 38.7, longitude: -9.42 },
      venueDoorsOpenDate: '2027-07-10T16:00:00+01:00',
      eventStartDate: '2027-07-10T18:00+01:00',
      venueEntranceGate: 'B',
      seats: [{ seatSection: 'Lawn', seatRow: '4', seatNumber: '17' }],
      performerNames: ['The Gulls'],
      eventType: 'PKEventTypeLivePerformance',
      silenceRequested: false,
    },
    nfc: { message: 'SAMPLE', encryptionPublicKey: NFC_KEY, requiresAuthentication: true },
    relevantDates: [{ startDate: '2027-07-10T16:00:00+01:00', endDate: '2027-07-10T23:00:00+01:00' }],
    expirationDate: '2027-07-11T04:00:00+01:00',
    bagPolicyURL: 'https://seaside.example/bags',
  },
  {
    ...at3x('icon', 38, 38),
    ...at3x('artwork', 358, 448),
    ...at3x('primaryLogo', 126, 30),
    'de.lproj/pass.strings':
      '"EVENT" = "EVENT (DE)";\n"Bring this ticket" = "Bitte mitbringen";\n"Unused" = "Unbenutzt";\n',
    'de.lproj/artwork@3x.png': plainPng(1074, 1344, '#112233'),
    'secondaryLogo.pdf': '%PDF-1.7',
    'notes.txt': 'for later',
  },
)

/** A flight with all tags of the semantic style. */
export const flight = bundle(
  {
    organizationName: 'Gannet Air',
    description: 'Boarding pass',
    logoText: 'Gannet',
    backgroundColor: 'rgb(11,57,84)',
    preferredStyleSchemes: ['semanticBoardingPass', 'boardingPass'],
    boardingPass: {
      transitType: 'PKTransitTypeAir',
      headerFields: [field('gate', 'GATE', 'B12', { changeMessage: 'Your gate is %@' })],
      primaryFields: [field('from', 'LISBON', 'LIS'), field('to', 'AMSTERDAM', 'AMS')],
      secondaryFields: [field('passenger', 'PASSENGER', 'Jane Appleseed')],
      auxiliaryFields: [
        field('boards', 'BOARDING', '2027-05-31T08:00:00+01:00', {
          dateStyle: 'PKDateStyleNone',
          timeStyle: 'PKDateStyleShort',
        }),
        field('seat', 'SEAT', '21A', { textAlignment: 'PKTextAlignmentRight' }),
      ],
    },
    semantics: {
      airlineCode: 'GN',
      flightNumber: 1943,
      flightCode: 'GN1943',
      departureAirportCode: 'LIS',
      departureCityName: 'Lisboa',
      departureLocationTimeZone: 'Europe/Lisbon',
      departureGate: 'B12',
      destinationAirportCode: 'AMS',
      destinationCityName: 'Amsterdam',
      destinationLocationTimeZone: 'Europe/Amsterdam',
      originalBoardingDate: '2027-05-31T08:00:00+01:00',
      originalDepartureDate: '2027-05-31T08:40:00+01:00',
      originalArrivalDate: '2027-05-31T12:20:00+02:00',
      passengerName: { givenName: 'Jane', familyName: 'Appleseed' },
      seats: [{ seatNumber: '21A', seatType: 'window' }],
      boardingGroup: '2',
      priorityStatus: 'Gold',
    },
    barcode: { format: 'PKBarcodeFormatAztec', message: 'M1APPLESEED/JANE', messageEncoding: 'iso-8859-1' },
  },
  { ...at3x('logo', 160, 50) },
)

/** A store card in both styles. The poster shows other fields than the classic style. */
export const loyalty = bundle(
  {
    organizationName: '',
    description: 'Loyalty card',
    backgroundColor: 'rgb(38,70,83)',
    storeCard: {
      primaryFields: [field('points', 'POINTS', 1240, { numberStyle: 'PKNumberStyleDecimal' })],
      secondaryFields: [field('discount', 'DISCOUNT', 0.15, { numberStyle: 'PKNumberStylePercent' })],
    },
    posterGeneric: {
      primaryFields: [
        field('points', 'POINTS', 1240, { numberStyle: 'PKNumberStyleDecimal' }),
        field('tier', 'TIER', 'Gold'),
      ],
    },
    barcode: { format: 'PKBarcodeFormatQR', message: 'SAMPLE', messageEncoding: 'iso-8859-1' },
  },
  { ...at3x('icon', 38, 38), ...at3x('background', 345, 505) },
)

/** Writes a template as a folder, which Pass Designer does. */
export function writeBundle(within: string, files: Files, name = 'Template.pkpasstemplate'): string {
  const root = join(within, name)
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  return root
}

/** Writes a template as the ZIP archive that the Finder makes of its folder. */
export function writeArchive(within: string, files: Files, folder = 'Template.pkpasstemplate/'): string {
  const path = join(within, 'Template.zip')
  const entries = Object.entries(files).map(([name, content]) => [`${folder}${name}`, Buffer.from(content)] as const)
  writeFileSync(path, zipSync({ ...Object.fromEntries(entries), [`__MACOSX/._${folder}`]: Buffer.from('x') }))
  return path
}
