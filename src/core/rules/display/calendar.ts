import { placeAbout } from './about.ts'
import type { Card } from './card.ts'

export interface CalendarFacts {
  /** The permanent ID of the calendar entry. A later file with the same ID replaces the entry. */
  uid: string
  /** The version of the calendar entry, which increases with each change of the pass. */
  sequence: number
  changedAt: Date
}

export interface Appointment {
  title: string
  place: string | undefined
  position: { latitude: number; longitude: number } | undefined
  start: Date
  /** The end, which is later than `start`; `undefined` if unknown. */
  end: Date | undefined
}

/** Returns the calendar entry of a pass; `undefined` without a start. The start defaults to `doorsAt` or `boardsAt`. */
export function appointmentOf({ event, trip, description, organizationName }: Card): Appointment | undefined {
  const [from, until] = event
    ? [event.startsAt ?? event.doorsAt, event.endsAt]
    : [trip?.departsAt ?? trip?.boardsAt, trip?.arrivesAt]
  if (from === undefined) return undefined
  const [start, end] = [new Date(from), new Date(until ?? from)]
  const stops = [trip?.from, trip?.to].map((stop) => stop?.city ?? stop?.name ?? stop?.code).filter(Boolean)
  const code = [trip?.carrier?.code ?? trip?.carrier?.name, trip?.number].filter(Boolean).join(' ')
  const named = event ? event.name : [code, stops.join(' – ')].filter(Boolean).join(' ')
  const where = event ? [event.venue?.name, event.venue?.address] : [trip?.from?.name, trip?.from?.terminal]
  return {
    title: named || description.trim() || organizationName,
    place: oneLine(where.filter(Boolean).join('\n')) || undefined,
    position: placeAbout({ event, trip }),
    start,
    end: end > start ? end : undefined,
  }
}

function oneLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim())
  return lines
    .map((line) => (line.endsWith(',') ? line.slice(0, -1) : line))
    .filter(Boolean)
    .join(', ')
}

/** Returns a calendar file (RFC 5545). Its times are in UTC, which calendars convert to the zone of the viewer. */
export function calendarFile(appointment: Appointment, { uid, sequence, changedAt }: CalendarFacts): string {
  const { title, place, position, start, end } = appointment
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//passes//passes//EN',
    'CALSCALE:GREGORIAN',
    'BEGIN:VEVENT',
    `UID:${escapeText(uid)}`,
    `DTSTAMP:${utc(changedAt)}`,
    `LAST-MODIFIED:${utc(changedAt)}`,
    `SEQUENCE:${sequence}`,
    `DTSTART:${utc(start)}`,
    ...(end ? [`DTEND:${utc(end)}`] : []),
    `SUMMARY:${escapeText(title)}`,
    ...(place ? [`LOCATION:${escapeText(place)}`] : []),
    ...(position ? [`GEO:${position.latitude.toFixed(6)};${position.longitude.toFixed(6)}`] : []),
    'END:VEVENT',
    'END:VCALENDAR',
  ]
  return lines.map((line) => `${fold(line)}\r\n`).join('')
}

function utc(at: Date): string {
  return `${at.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`
}

function escapeText(text: string): string {
  const escaped = text.replaceAll(/[\\;,]/g, (sign) => `\\${sign}`).replaceAll(/\r\n?|\n/g, '\\n')
  // Replace other control characters, because parsers can treat them as the end of a line or of the file.
  return escaped.replaceAll(/[\p{Cc}\u2028\u2029]/gu, ' ')
}

const MAX_BYTES = 75

/** Folds a line after at most 75 bytes, never within a character. */
function fold(line: string): string {
  const parts: string[] = []
  let part = ''
  let bytes = 0
  for (const character of line) {
    const size = Buffer.byteLength(character)
    if (bytes + size > MAX_BYTES) {
      parts.push(part)
      // Start at 1 byte: a continuation line starts with a space, which counts toward its length.
      part = ''
      bytes = 1
    }
    part += character
    bytes += size
  }
  return [...parts, part].join('\r\n ')
}
