import { z } from 'zod'
import { boolean, Color, Currency, number, oneOf, Place, TimeZone, text, textList, W3cDate } from './value-types.ts'

/** Apple's semantic tags with their types. Phones ignore unknown ones. */

const CurrencyAmount = z.looseObject({ amount: text.optional(), currencyCode: Currency.optional() })

const Seat = z.looseObject({
  ...optionalAll(
    ['seatAisle', 'seatDescription', 'seatIdentifier', 'seatLevel', 'seatNumber', 'seatRow', 'seatSection', 'seatType'],
    text,
  ),
  seatSectionColor: Color.optional(),
})

const PersonName = z.looseObject(
  optionalAll(
    ['familyName', 'givenName', 'middleName', 'namePrefix', 'nameSuffix', 'nickname', 'phoneticRepresentation'],
    text,
  ),
)

const EventDateInfo = z.looseObject({
  date: W3cDate.optional(),
  timeZone: TimeZone.optional(),
  ...optionalAll(['ignoreTimeComponents', 'unannounced', 'undetermined'], boolean),
})

const texts = [
  'additionalTicketAttributes',
  'admissionLevel',
  'admissionLevelAbbreviation',
  'airlineCode',
  'airlineLoungePlaceID',
  'attendeeName',
  'awayTeamAbbreviation',
  'awayTeamLocation',
  'awayTeamName',
  'boardingGroup',
  'boardingSequenceNumber',
  'boardingZone',
  'carNumber',
  'confirmationNumber',
  'departureAirportCode',
  'departureAirportName',
  'departureCityName',
  'departureGate',
  'departureLocationDescription',
  'departurePlatform',
  'departureStationName',
  'departureTerminal',
  'destinationAirportCode',
  'destinationAirportName',
  'destinationCityName',
  'destinationGate',
  'destinationLocationDescription',
  'destinationPlatform',
  'destinationStationName',
  'destinationTerminal',
  'entranceDescription',
  'eventLiveMessage',
  'eventName',
  'flightCode',
  'genre',
  'homeTeamAbbreviation',
  'homeTeamLocation',
  'homeTeamName',
  'internationalDocumentsVerifiedDeclarationName',
  'leagueAbbreviation',
  'leagueName',
  'membershipProgramName',
  'membershipProgramNumber',
  'membershipProgramStatus',
  'priorityStatus',
  'securityScreening',
  'sportName',
  'ticketFareClass',
  'transitProvider',
  'transitStatus',
  'transitStatusReason',
  'vehicleName',
  'vehicleNumber',
  'vehicleType',
  'venueEntrance',
  'venueEntranceDoor',
  'venueEntranceGate',
  'venueEntrancePortal',
  'venueName',
  'venuePhoneNumber',
  'venuePlaceID',
  'venueRegionName',
  'venueRoom',
] as const

const dates = [
  'currentArrivalDate',
  'currentBoardingDate',
  'currentDepartureDate',
  'eventEndDate',
  'eventStartDate',
  'originalArrivalDate',
  'originalBoardingDate',
  'originalDepartureDate',
  'venueBoxOfficeOpenDate',
  'venueCloseDate',
  'venueDoorsOpenDate',
  'venueFanZoneOpenDate',
  'venueGatesOpenDate',
  'venueOpenDate',
  'venueParkingLotsOpenDate',
] as const

const timeZones = [
  'departureAirportTimeZone',
  'departureLocationTimeZone',
  'destinationAirportTimeZone',
  'destinationLocationTimeZone',
] as const

const lists = [
  'albumIDs',
  'artistIDs',
  'loungePlaceIDs',
  'passengerAirlineSSRs',
  'passengerInformationSSRs',
  'passengerServiceSSRs',
  'performerNames',
  'playlistIDs',
] as const

const SecurityPrograms = z.array(
  oneOf(
    'PKTransitSecurityProgramTSAPreCheck',
    'PKTransitSecurityProgramTSAPreCheckTouchlessID',
    'PKTransitSecurityProgramOSS',
    'PKTransitSecurityProgramITI',
    'PKTransitSecurityProgramITD',
    'PKTransitSecurityProgramGlobalEntry',
    'PKTransitSecurityProgramCLEAR',
  ),
)

const securityPrograms = [
  'departureAirportSecurityPrograms',
  'departureLocationSecurityPrograms',
  'destinationAirportSecurityPrograms',
  'destinationLocationSecurityPrograms',
  'passengerEligibleSecurityPrograms',
] as const

/** Apple's semantic tags. Unknown tags are accepted. */
export const Semantics = z.looseObject({
  ...optionalAll(texts, text),
  ...optionalAll(dates, W3cDate),
  ...optionalAll(timeZones, TimeZone),
  ...optionalAll(lists, textList),
  ...optionalAll(securityPrograms, SecurityPrograms),
  ...optionalAll(['duration', 'flightNumber'], number),
  ...optionalAll(['internationalDocumentsAreVerified', 'silenceRequested', 'tailgatingAllowed'], boolean),
  ...optionalAll(['balance', 'totalPrice'], CurrencyAmount),
  ...optionalAll(['departureLocation', 'destinationLocation', 'venueLocation'], Place),
  airplay: z.array(z.looseObject({ airplayDeviceGroupToken: text.optional() })).optional(),
  eventStartDateInfo: EventDateInfo.optional(),
  eventType: oneOf(
    'PKEventTypeGeneric',
    'PKEventTypeLivePerformance',
    'PKEventTypeMovie',
    'PKEventTypeSports',
    'PKEventTypeConference',
    'PKEventTypeConvention',
    'PKEventTypeWorkshop',
    'PKEventTypeSocialGathering',
  ).optional(),
  passengerCapabilities: z
    .array(
      oneOf(
        'PKPassengerCapabilityPreboarding',
        'PKPassengerCapabilityPriorityBoarding',
        'PKPassengerCapabilityCarryon',
        'PKPassengerCapabilityPersonalItem',
      ),
    )
    .optional(),
  passengerName: PersonName.optional(),
  seats: z.array(Seat).optional(),
  wifiAccess: z.array(z.looseObject({ ssid: text, password: text })).optional(),
})

function optionalAll<K extends string, T extends z.ZodType>(keys: readonly K[], type: T): Record<K, z.ZodOptional<T>> {
  return Object.fromEntries(keys.map((key) => [key, type.optional()])) as Record<K, z.ZodOptional<T>>
}
