import type { DefinitionInput, PassType } from '../../core/contract/definition.ts'
import { TemplateKey } from '../../core/contract/templates.ts'
import { UsageError } from '../command/cli-error.ts'

/** Starter templates, which can be published unchanged. */
export const starterKinds = ['event-ticket', 'loyalty', 'coupon', 'boarding-pass', 'flight', 'membership'] as const
/** A starter name of `template init`. */
export type StarterKind = (typeof starterKinds)[number]

/** The values that are filled into a starter template. */
export interface StarterFacts {
  /** The key by which `template push` finds the template. */
  key: string
  name: string
  /** The issuer shown on passes. */
  organization: string
}

interface Starter {
  passType: PassType
  description: string
  /** The definition without the issuer name. */
  content: Omit<DefinitionInput, 'design'> & { design: Omit<DefinitionInput['design'], 'organizationName'> }
}

const starters: Record<StarterKind, Starter> = {
  'event-ticket': {
    passType: 'eventTicket',
    description: 'Admission to an event.',
    content: {
      variables: [
        { name: 'event', label: 'Event', required: true, maxLength: 60, example: 'Spring fair' },
        { name: 'venue', label: 'Venue', required: true, maxLength: 60, example: 'Town hall' },
        {
          name: 'startsAt',
          label: 'Starts at',
          required: true,
          format: 'date-time',
          example: '2027-05-31T19:30:00+02:00',
        },
        { name: 'seat', label: 'Seat', default: 'Open seating', maxLength: 20, example: 'A-17' },
      ],
      design: {
        description: 'Ticket',
        colors: { background: '#1d3557', foreground: '#ffffff', label: '#a8dadc' },
        fields: {
          header: [{ key: 'seat', label: 'SEAT', value: '{{seat}}' }],
          primary: [{ key: 'event', label: 'EVENT', value: '{{event}}' }],
          secondary: [
            { key: 'venue', label: 'VENUE', value: '{{venue}}' },
            { key: 'holder', label: 'NAME', value: '{{pass.label}}' },
          ],
          auxiliary: [{ key: 'startsAt', label: 'STARTS', value: '{{startsAt}}' }],
        },
        relevantDate: '{{startsAt}}',
      },
      redemption: { maxUses: 1 },
    },
  },
  loyalty: {
    passType: 'storeCard',
    description: 'A card that collects points.',
    content: {
      variables: [
        { name: 'points', label: 'Points', format: 'number', default: '0', maxLength: 9, example: '1240' },
        { name: 'level', label: 'Level', default: 'Basic', maxLength: 20, example: 'Gold' },
      ],
      design: {
        description: 'Loyalty card',
        colors: { background: '#264653', foreground: '#ffffff', label: '#e9c46a' },
        fields: {
          primary: [{ key: 'points', label: 'POINTS', value: '{{points}}', changeMessage: 'You have %@ points' }],
          secondary: [
            { key: 'holder', label: 'NAME', value: '{{pass.label}}' },
            { key: 'level', label: 'LEVEL', value: '{{level}}', changeMessage: 'Your level is %@' },
          ],
        },
      },
    },
  },
  coupon: {
    passType: 'coupon',
    description: 'An offer that is redeemed once.',
    content: {
      variables: [
        { name: 'offer', label: 'Offer', required: true, maxLength: 40, example: '20 % off' },
        { name: 'until', label: 'Valid until', required: true, format: 'date', example: '2027-12-31' },
      ],
      design: {
        description: 'Coupon',
        colors: { background: '#9b2226', foreground: '#ffffff', label: '#ffd6a5' },
        fields: {
          primary: [{ key: 'offer', label: 'OFFER', value: '{{offer}}' }],
          auxiliary: [{ key: 'until', label: 'VALID UNTIL', value: '{{until}}' }],
        },
      },
      expiresAt: '{{until}}',
      redemption: { maxUses: 1 },
    },
  },
  'boarding-pass': {
    passType: 'boardingPass',
    description: 'A seat on a journey.',
    content: {
      variables: [
        { name: 'from', label: 'From', required: true, maxLength: 20, example: 'Porto' },
        { name: 'to', label: 'To', required: true, maxLength: 20, example: 'Lisboa' },
        {
          name: 'departsAt',
          label: 'Departs at',
          required: true,
          format: 'date-time',
          example: '2027-05-31T08:40:00+01:00',
        },
        { name: 'service', label: 'Service', required: true, maxLength: 20, example: 'IC 523' },
        { name: 'seat', label: 'Seat', default: 'any', maxLength: 8, example: '21A' },
      ],
      design: {
        description: 'Boarding pass',
        colors: { background: '#0b3954', foreground: '#ffffff', label: '#bfd7ea' },
        fields: {
          header: [{ key: 'service', label: 'SERVICE', value: '{{service}}' }],
          primary: [
            { key: 'from', label: 'FROM', value: '{{from}}' },
            { key: 'to', label: 'TO', value: '{{to}}' },
          ],
          secondary: [{ key: 'holder', label: 'PASSENGER', value: '{{pass.label}}' }],
          auxiliary: [
            { key: 'departsAt', label: 'DEPARTS', value: '{{departsAt}}', changeMessage: 'Now departs at %@' },
            { key: 'seat', label: 'SEAT', value: '{{seat}}' },
          ],
        },
        relevantDate: '{{departsAt}}',
      },
      apple: { transitType: 'PKTransitTypeTrain' },
      redemption: { maxUses: 1 },
    },
  },
  flight: {
    passType: 'boardingPass',
    description: 'A seat on a flight.',
    content: {
      variables: [
        { name: 'flight', label: 'Flight', required: true, maxLength: 7, example: 'TP 1943' },
        { name: 'from', label: 'From, as the code of the airport', required: true, maxLength: 3, example: 'OPO' },
        { name: 'to', label: 'To, as the code of the airport', required: true, maxLength: 3, example: 'LIS' },
        {
          name: 'departsAt',
          label: 'Scheduled departure',
          required: true,
          format: 'date-time',
          example: '2027-05-31T08:40:00+01:00',
        },
        { name: 'gate', label: 'Gate', default: '', maxLength: 8, example: 'B12' },
        { name: 'seat', label: 'Seat', default: 'any', maxLength: 8, example: '21A' },
      ],
      design: {
        description: 'Boarding pass',
        colors: { background: '#0b3954', foreground: '#ffffff', label: '#bfd7ea' },
        fields: {
          header: [{ key: 'gate', label: 'GATE', value: '{{gate}}', changeMessage: 'Your gate is %@' }],
          primary: [
            { key: 'from', label: 'FROM', value: '{{from}}' },
            { key: 'to', label: 'TO', value: '{{to}}' },
          ],
          secondary: [
            { key: 'holder', label: 'PASSENGER', value: '{{pass.label}}' },
            { key: 'flight', label: 'FLIGHT', value: '{{flight}}' },
          ],
          auxiliary: [
            { key: 'departsAt', label: 'DEPARTS', value: '{{departsAt}}' },
            { key: 'seat', label: 'SEAT', value: '{{seat}}' },
          ],
        },
        relevantDate: '{{departsAt}}',
      },
      apple: {
        transitType: 'PKTransitTypeAir',
        semantics: {
          flightCode: '{{flight}}',
          departureAirportCode: '{{from}}',
          destinationAirportCode: '{{to}}',
          originalDepartureDate: '{{departsAt}}',
          departureGate: '{{gate}}',
          seats: [{ seatNumber: '{{seat}}' }],
        },
      },
      google: { classKey: '{{flight}} {{departsAt}}' },
      redemption: { maxUses: 1 },
    },
  },
  membership: {
    passType: 'generic',
    description: 'A card that shows who belongs.',
    content: {
      variables: [
        { name: 'since', label: 'Member since', required: true, maxLength: 20, example: '2021' },
        { name: 'kind', label: 'Kind of membership', default: 'Regular', maxLength: 30, example: 'Supporter' },
        { name: 'until', label: 'Valid until', format: 'date', example: '2027-12-31', required: true },
      ],
      design: {
        description: 'Membership card',
        colors: { background: '#2d6a4f', foreground: '#ffffff', label: '#d8f3dc' },
        fields: {
          primary: [{ key: 'holder', label: 'MEMBER', value: '{{pass.label}}' }],
          secondary: [
            { key: 'kind', label: 'MEMBERSHIP', value: '{{kind}}' },
            { key: 'since', label: 'SINCE', value: '{{since}}' },
          ],
          auxiliary: [{ key: 'until', label: 'VALID UNTIL', value: '{{until}}' }],
        },
      },
      expiresAt: '{{until}}',
    },
  },
}

/** Creates the content of a template file. @throws UsageError if the key is not valid */
export function starterTemplate(kind: StarterKind, { key, name, organization }: StarterFacts) {
  if (!TemplateKey.safeParse(key).success) {
    throw new UsageError(`"${key}" cannot be a key`, {
      hint: '--key must be up to 64 lowercase letters, digits, or hyphens.',
    })
  }
  const { passType, description, content } = starters[kind]
  const { design, ...rest } = content
  return {
    key,
    name,
    description,
    passType,
    definition: { ...rest, design: { organizationName: organization, ...design } },
  }
}

/** Derives a key from a name: "Café crème 2027" becomes cafe-creme-2027. Returns an empty text if no letters remain. */
export function keyOf(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return plain
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 64)
}
