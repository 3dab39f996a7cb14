import { type Person, person } from './names.ts'
import { type Random, seededRandom } from './random.ts'

export const attendeeColumns = [
  'externalPassId',
  'label',
  'ticketType',
  'affiliation',
  'email',
  'hall',
  'seat',
  'workshop',
  'requests',
  'doorsOpen',
  'entriesPerDay',
  'profileUrl',
  'validUntil',
  'booking',
] as const

/** One row of the attendees' file; an empty text means that the template's default holds. */
export type Attendee = Record<(typeof attendeeColumns)[number], string>

export interface AttendeesOptions {
  seed: number
  /** The number in the first externalPassId. */
  first: number
  count: number
}

/** The attendees of a two-day conference: the same ones for the same options. */
export function attendees({ seed, first, count }: AttendeesOptions): Attendee[] {
  const random = seededRandom(seed)
  const nextSeat = seats()
  return Array.from({ length: count }, (_, index) => {
    const number = String(first + index).padStart(5, '0')
    const ticket = random.weighted(tickets)
    const hall = random.weighted(ticket.halls)
    return {
      externalPassId: `PG27-${number}`,
      ...identity(person(random), number, random),
      ticketType: ticket.type,
      hall,
      seat: ticket.zone === 'none' ? '' : nextSeat(hall, ticket.zone),
      workshop: random.chance(ticket.workshopShare) ? random.pick(workshops) : '',
      requests: random.chance(0.08) ? random.pick(requests) : '',
      doorsOpen: ticket.doorsOpen,
      entriesPerDay: ticket.entriesPerDay,
      profileUrl: ticket.type === 'Speaker' ? `https://polyglot.example/speakers/${number}?lang=en&year=2027` : '',
      validUntil: ticket.validUntil,
      booking: bookingOf(first + index),
    }
  })
}

/** Every other five have booked together. */
function bookingOf(number: number): string {
  const five = Math.ceil(number / 5)
  return five % 2 === 0 ? `R-${2000 + five}` : ''
}

function identity({ name, handle }: Person, number: string, random: Random) {
  return {
    label: name,
    affiliation: random.chance(0.75) ? random.pick(affiliations) : '',
    email: `${handle}.${Number(number)}@${random.pick(['example.org', 'example.com', 'mail.example.net'])}`,
  }
}

const lastDay = { validUntil: '2027-05-21T22:00:00+01:00' }
const mainHalls = [
  ['Sala Tejo', 50],
  ['Sala Atlântico', 50],
] as const

interface Ticket {
  type: string
  halls: readonly (readonly [hall: string, weight: number])[]
  zone: 'front' | 'back' | 'none'
  workshopShare: number
  doorsOpen: string
  entriesPerDay: string
  validUntil: string
}

const standard: Ticket = {
  type: 'Standard',
  halls: mainHalls,
  zone: 'back',
  workshopShare: 0.1,
  doorsOpen: '',
  entriesPerDay: '',
  ...lastDay,
}

const tickets: [Ticket, number][] = [
  [standard, 62],
  [{ ...standard, type: 'Student', halls: [['Sala Atlântico', 1]], zone: 'front' }, 12],
  [
    {
      ...standard,
      type: 'Workshop',
      halls: [['Sala Jardim', 1]],
      workshopShare: 1,
      doorsOpen: '2027-05-20T07:30:00+01:00',
      entriesPerDay: '2',
    },
    10,
  ],
  [
    {
      ...standard,
      type: 'Speaker',
      halls: [['Sala Tejo', 1]],
      zone: 'front',
      doorsOpen: '2027-05-20T07:00:00+01:00',
      entriesPerDay: '20',
    },
    6,
  ],
  [
    {
      ...standard,
      type: 'VIP',
      halls: [['Sala Tejo', 1]],
      zone: 'front',
      entriesPerDay: '10',
      validUntil: '2027-05-22T14:00:00+01:00',
    },
    6,
  ],
  [{ ...standard, type: 'Press', zone: 'none', entriesPerDay: '20' }, 4],
]

const SEATS_IN_A_ROW = 60

/** Hands out the seats of each hall, row by row: the front from row A, the back from row N. */
function seats() {
  const taken = new Map<string, number>()
  return (hall: string, zone: 'front' | 'back') => {
    const index = taken.get(`${hall} ${zone}`) ?? 0
    taken.set(`${hall} ${zone}`, index + 1)
    const row = 'ABCDEFGHJKLMNPQRSTUVWXYZ'[(zone === 'front' ? 0 : 12) + Math.floor(index / SEATS_IN_A_ROW)]
    return `${row}-${(index % SEATS_IN_A_ROW) + 1}`
  }
}

const workshops = [
  'Bidirectional text, from A to ת',
  'Names are not ASCII',
  'Fonts for everyone',
  'Plurals & genders in messages',
  'Emoji: “it is just text”, they said',
  'التنضيد العربي على الويب',
  '縦書きと禁則処理',
]

const affiliations = [
  'Aurora Labs',
  'Åström & Söner AB',
  'Smith, Jones & Co.',
  'The "Quote" Company',
  'Nordwind Software GmbH',
  'Издательство «Север»',
  'Δίκτυο Α.Ε.',
  '株式会社みなと',
  '한빛연구소',
  'مكتبة النهضة',
  'भाषा संस्थान',
  'Universidade da Ribeira',
  'R&D <Tools>, Inc.',
  'L’Atelier des Mots',
  "Sha'ar Translations",
]

const requests = [
  'vegetarian',
  'vegan, no nuts',
  'sign language interpretation (LGP)',
  'Halal; and "really" no alcohol in the sauce',
  'wheelchair space, near the aisle',
  'Two things:\n1. a seat by the door\n2. no peanuts, please',
  'без глютена',
  'アレルギー:そば、えび',
  '=no formulas, please',
]
