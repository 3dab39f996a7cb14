import { person } from './names.ts'
import { seededRandom } from './random.ts'

export const cardColumns = ['externalPassId', 'label', 'card', 'membership', 'since', 'validUntil'] as const

/** Members of the museum, in the order of the columns. The numbers of their cards are EAN-13. */
export function cards(count: number): string[][] {
  const random = seededRandom(1492)
  return Array.from({ length: count }, (_, index) => {
    const number = withCheckDigit(`2004${String(71_000_000 + index * 13).padStart(8, '0')}`)
    const year = 2010 + random.below(16)
    const membership = random.pick(['Single', 'Family', 'Friend of the museum'])
    return [`AT-${number}`, person(random).name, number, membership, `${year}-0${1 + random.below(9)}-15`, '2027-12-31']
  })
}

function withCheckDigit(digits: string): string {
  const sum = [...digits].reduce((total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 1 : 3), 0)
  return `${digits}${(10 - (sum % 10)) % 10}`
}

export const ticketColumns = ['externalPassId', 'label', 'admission', 'camping'] as const

/** Visitors of the festival, in the order of the columns. */
export function tickets(count: number): string[][] {
  const random = seededRandom(1969)
  return Array.from({ length: count }, (_, index) => {
    const admission = random.pick(['Three days', 'Three days', 'Friday', 'Saturday', 'Sunday'])
    const camping = admission === 'Three days' && random.chance(0.5) ? 'Meadow' : ''
    return [`NF27-${String(index + 1).padStart(5, '0')}`, person(random).name, admission, camping]
  })
}
