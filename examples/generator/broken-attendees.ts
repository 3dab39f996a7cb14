import type { Attendee } from './attendees.ts'
import { attendeeColumns } from './attendees.ts'

export interface BrokenRow {
  /** The row number in the file, from 0, without the header. */
  index: number
  /** A description of the fault for people. */
  fault: string
  cells: string[]
}

/** Creates rows as people type them in a hurry, each with a different fault. */
export function brokenRows(good: readonly Attendee[]): BrokenRow[] {
  return faults.map(({ fault, spoil }, position) => {
    // Every second row, so that good and bad ones alternate.
    const index = 1 + position * 2
    const attendee = good[index]!
    const spoiled = spoil(attendee, good[0]!)
    return { index, fault, cells: Array.isArray(spoiled) ? spoiled : cellsOf({ ...attendee, ...spoiled }) }
  })
}

export function cellsOf(attendee: Attendee): string[] {
  return attendeeColumns.map((column) => attendee[column])
}

interface Fault {
  fault: string
  /** The values that make the row wrong, or the cells of the wrong row. */
  spoil: (attendee: Attendee, first: Attendee) => Partial<Attendee> | string[]
}

const faults: Fault[] = [
  { fault: 'no ticket type, which is required', spoil: () => ({ ticketType: '' }) },
  { fault: 'no e-mail, which is required', spoil: () => ({ email: '' }) },
  { fault: 'empty label', spoil: () => ({ label: '' }) },
  { fault: 'empty externalPassId', spoil: () => ({ externalPassId: '' }) },
  { fault: 'e-mail without @', spoil: ({ email }) => ({ email: email.replace('@', '(at)') }) },
  { fault: 'e-mail with a space', spoil: ({ email }) => ({ email: email.replace('.', ' ') }) },
  { fault: 'expiry that is no date', spoil: () => ({ validUntil: 'after the party' }) },
  { fault: 'expiry in a local notation', spoil: () => ({ validUntil: '21.05.2027 22:00' }) },
  { fault: 'expiry on the 30th of February', spoil: () => ({ validUntil: '2027-02-30T22:00:00+01:00' }) },
  { fault: 'door time without a time zone', spoil: () => ({ doorsOpen: '2027-05-20 8am' }) },
  { fault: 'number of entries in words', spoil: () => ({ entriesPerDay: 'three' }) },
  { fault: 'number of entries that the redemption policy refuses', spoil: () => ({ entriesPerDay: '0' }) },
  {
    fault: 'ticket type longer than 20 characters',
    spoil: () => ({ ticketType: 'Standard, but with lunch and dinner' }),
  },
  { fault: 'label longer than 255 characters', spoil: ({ label }) => ({ label: `${label} / `.repeat(30) }) },
  { fault: 'web address without a scheme', spoil: () => ({ profileUrl: 'polyglot.example/my profile' }) },
  {
    fault: 'externalPassId of another row',
    spoil: (_, first) => ({ externalPassId: first.externalPassId }),
  },
  { fault: 'too few columns: the line breaks off', spoil: (attendee) => cellsOf(attendee).slice(0, 6) },
  {
    fault: 'too many columns: a comma without quotes',
    spoil: (attendee) => {
      const [externalPassId, label, ...rest] = cellsOf(attendee)
      const [given, ...family] = label!.split(' ')
      return [externalPassId!, family.join(' '), ` ${given}`, ...rest]
    },
  },
]
