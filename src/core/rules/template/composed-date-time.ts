import { dateTimeParts } from '../../contract/common.ts'
import { splitPlaceholders } from './placeholder.ts'

/** What one placeholder of a composed date-time must be. */
export interface DateTimePiece {
  name: string
  /** Without anchors. */
  pattern: string
  what: string
}

const { date, time, offset } = dateTimeParts
const HOUR = '(?:[01]\\d|2[0-3])'
const MINUTE = '[0-5]\\d'
const SECOND = '[0-5]\\d(?:\\.\\d+)?'

/** Stands for a placeholder; no date-time holds it. */
const MARK = '\0'

interface Piece {
  pattern: string
  what: string
}

const pieces = {
  date: { pattern: date, what: 'a date such as 2027-05-31' },
  time: { pattern: time, what: 'a time such as 19:30 or 19:30:00' },
  hour: { pattern: HOUR, what: 'an hour from 00 to 23' },
  minute: { pattern: MINUTE, what: 'minutes from 00 to 59' },
  second: { pattern: SECOND, what: 'seconds from 00 to 59' },
  offset: { pattern: offset, what: 'Z or an offset such as +02:00' },
  dateAndTime: { pattern: `${date}T${time}`, what: 'a date-time without an offset, such as 2027-05-31T19:30:00' },
  timeAndOffset: { pattern: `${time}${offset}`, what: 'a time with Z or an offset, such as 19:30:00Z' },
} satisfies Record<string, Piece>

type PieceName = keyof typeof pieces

/** A piece that is written out, or the placeholder for it. */
const piece = (name: PieceName) => `(?<${name}>${MARK}|${pieces[name].pattern})`

/** The ways to compose a date-time. In each, every choice of pieces makes a sound one: no piece depends on another. */
const forms = [
  `${piece('date')}T${piece('time')}${piece('offset')}`,
  `${piece('date')}T${piece('hour')}:${piece('minute')}(?::${piece('second')})?${piece('offset')}`,
  `${piece('date')}T${piece('timeAndOffset')}`,
  `${piece('dateAndTime')}${piece('offset')}`,
].map((form) => new RegExp(`^${form}$`))

/** What each placeholder of a date-time must be; undefined where the text does not tell, or can never be one. */
export function dateTimePieces(text: string): DateTimePiece[] | undefined {
  if (text.includes(MARK)) return undefined
  const { names, literals } = splitPlaceholders(text)
  const marked = literals.join(MARK)
  for (const form of forms) {
    const groups = form.exec(marked)?.groups
    if (!groups) continue
    const found = Object.entries(groups).filter(([, part]) => part === MARK) as [PieceName, string][]
    const isUtc = groups.offset === 'Z'
    // An offset could carry the first or the last day of all into a year that ISO 8601 writes otherwise.
    if (!isUtc && (groups.date ?? groups.dateAndTime)?.match(EDGE)) return undefined
    return found.map(([piece, _], index) => {
      const { pattern, what } = pieces[piece]
      const mayBeEdge = isUtc || (piece !== 'date' && piece !== 'dateAndTime')
      return { name: names[index]!, pattern: mayBeEdge ? pattern : `(?!${EDGES})${pattern}`, what }
    })
  }
  return undefined
}

const EDGES = '0000-01-01|9999-12-31'
const EDGE = new RegExp(`^(?:${EDGES})`)
