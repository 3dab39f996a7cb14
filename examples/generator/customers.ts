import { person } from './names.ts'
import { seededRandom } from './random.ts'

export const memberColumns = [
  'externalPassId',
  'label',
  'points',
  'tier',
  'memberSince',
  'favourite',
  'nextReward',
  'stamps',
  'photo',
] as const

/** Members of the coffee house's loyalty programme, in the order of the columns. */
export function members(count: number): string[][] {
  const random = seededRandom(1987)
  return Array.from({ length: count }, (_, index) => {
    const points = random.below(random.chance(0.15) ? 12_000 : 2_500)
    const [tier, nextReward] = standing(points)
    const favourite = random.chance(0.7) ? random.pick(drinks) : ''
    const since = isoDate(2015 + random.below(11), random.below(12), random.below(28))
    const number = String(410_000 + index * 7).padStart(8, '0')
    // The first members have brought a photo.
    const photo = index < PHOTOS ? `photos/${index + 1}.png` : ''
    const stamps = String(Math.floor(points / 10) % 5)
    return [`GF-${number}`, person(random).name, String(points), tier, since, favourite, nextReward, stamps, photo]
  })
}

/** The number of photos that make-images draws. */
const PHOTOS = 3

function standing(points: number): [tier: string, nextReward: string] {
  if (points >= 5000) return ['Gold', 'A bag of single origin on us']
  if (points >= 1500) return ['Silver', `${5000 - points} points to Gold`]
  return ['Green', `${1500 - points} points to Silver`]
}

const drinks = [
  'Galão',
  'Bica',
  'Café au lait',
  'Flat white',
  'Chá de hortelã',
  '抹茶ラテ',
  'Türk kahvesi',
  'Cà phê sữa đá',
]

export const couponColumns = ['externalPassId', 'label', 'percentage', 'minimumSpend', 'shop', 'validUntil'] as const

/** Vouchers of the spice market, in the order of the columns. */
export function coupons(count: number): string[][] {
  const random = seededRandom(77)
  const codes = new Set<string>()
  while (codes.size < count) {
    const part = () => Array.from({ length: 4 }, () => random.pick([...'ABCDEFGHJKMNPQRSTVWXYZ23456789'])).join('')
    codes.add(`SM-${part()}-${part()}`)
  }
  return [...codes].map((code) => [
    code,
    person(random).name,
    random.weighted(discounts),
    random.chance(0.4) ? random.pick(['15', '30', '49.50']) : '',
    random.chance(0.5) ? random.pick(shops) : '',
    random.pick(lastDays),
  ])
}

const discounts = [
  ['10', 50],
  ['15', 30],
  ['20', 15],
  ['33.3', 4],
  ['50', 1],
] as const

const shops = ['Rua das Especiarias 7', 'Mercado da Ribeira, stall 12', 'Gewürzgasse 3', 'Baharat Çarşısı 21']
const lastDays = ['2027-06-30', '2027-09-30', '2027-12-31']

function isoDate(year: number, monthIndex: number, dayIndex: number): string {
  const two = (value: number) => String(value).padStart(2, '0')
  return `${year}-${two(monthIndex + 1)}-${two(dayIndex + 1)}`
}

const lisbon = ['LIS', 'Lisboa', 'Europe/Lisbon'] as const
const amsterdam = ['AMS', 'Amsterdam', 'Europe/Amsterdam'] as const
const warsaw = ['WAW', 'Warszawa', 'Europe/Warsaw'] as const

const flights = [
  ['664', lisbon, amsterdam, '06:20:00+01:00', '07:00:00+01:00', '11:05:00+02:00'],
  ['127', amsterdam, warsaw, '13:25:00+02:00', '14:00:00+02:00', '15:55:00+02:00'],
] as const

export const passengerColumns = [
  'externalPassId',
  'label',
  'flight',
  'from',
  'to',
  'fromCity',
  'fromZone',
  'toCity',
  'toZone',
  'boards',
  'departs',
  'arrives',
  'gate',
  'seat',
  'group',
  'reservation',
] as const

/** Creates the passengers of two flights, in the order of the columns. Gates are announced later. */
export function passengers(count: number): string[][] {
  const random = seededRandom(664)
  return Array.from({ length: count }, (_, index) => {
    const [flight, [from, fromCity, fromZone], [to, toCity, toZone], ...times] = flights[index % flights.length]!
    const place = Math.floor(index / flights.length)
    const row = 1 + Math.floor(place / 6)
    const seat = `${row}${'ABCDEF'[place % 6]}`
    const reservation = Array.from({ length: 6 }, () => random.pick([...'ABCDEFGHJKMNPQRSTVWXYZ23456789'])).join('')
    const moments = times.map((time) => `2027-05-19T${time}`)
    const group = row <= 3 ? '1' : '2'
    return [
      `GN${flight}-${seat}`,
      person(random).name,
      flight,
      from,
      to,
      fromCity,
      fromZone,
      toCity,
      toZone,
      ...moments,
      '',
      seat,
      group,
      reservation,
    ]
  })
}
