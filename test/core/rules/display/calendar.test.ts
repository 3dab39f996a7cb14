import { expect, test } from 'vitest'
import type { DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import { appointmentOf, calendarFile } from '../../../../src/core/rules/display/calendar.ts'
import { renderCard } from '../../../../src/core/rules/display/card.ts'
import { parseDefinition } from '../../../support/definitions.ts'

const facts = { uid: 'id@passes.example', sequence: 3, changedAt: new Date('2027-01-02T03:04:05.678Z') }

function fileOf(parts: Partial<DefinitionInput>, values: Record<string, string> = {}): string | undefined {
  const definition = parseDefinition({ design: { organizationName: 'Harbour', description: 'Ticket' }, ...parts })
  const scope = new Map(Object.entries(values))
  const card = renderCard({ passType: 'eventTicket', definition, scope, expiresAt: null, voided: false })
  const appointment = appointmentOf(card)
  return appointment && calendarFile(appointment, facts)
}

test('an event has the same instant in the calendar regardless of the offset in which it was written', () => {
  const venue = { name: 'Hall; A', address: 'Quay 1,\nLisbon', latitude: 38.7678, longitude: -9.0946 }
  const event = { name: 'Night \\ music', venue, doorsAt: '2027-05-20T18:00+01:00', startsAt: '2027-05-20T19:00+01:00' }
  expect(fileOf({ event: { ...event, endsAt: '2027-05-21T00:30:00+02:00' } })?.split('\r\n')).toEqual([
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//passes//passes//EN',
    'CALSCALE:GREGORIAN',
    'BEGIN:VEVENT',
    'UID:id@passes.example',
    'DTSTAMP:20270102T030405Z',
    'LAST-MODIFIED:20270102T030405Z',
    'SEQUENCE:3',
    'DTSTART:20270520T180000Z',
    'DTEND:20270520T223000Z',
    'SUMMARY:Night \\\\ music',
    'LOCATION:Hall\\; A\\, Quay 1\\, Lisbon',
    'GEO:38.767800;-9.094600',
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ])
})

test('a trip is an entry from its departure to its arrival', () => {
  const from = { code: 'LIS', name: 'Lisbon', terminal: 'Terminal 1' }
  const trip = {
    mode: 'air',
    carrier: { code: 'TP' },
    number: '664',
    from,
    to: { code: 'AMS' },
    departsAt: '{{at}}',
  } as const
  const file = fileOf({ trip, variables: [{ name: 'at', label: 'At' }] }, { at: '2027-05-20T07:00:00+01:00' })
  expect(file).toContain(
    '\r\nDTSTART:20270520T060000Z\r\nSUMMARY:TP 664 Lisbon – AMS\r\nLOCATION:Lisbon\\, Terminal 1\r\n',
  )
})

test('no value ends or starts a line, and no line exceeds 75 bytes or splits a character', () => {
  const name = `${'日本語 é 👩‍🚀'.repeat(30)}\r\nATTENDEE:mailto:x\u2028\0\rX\nEND:VEVENT`
  const file = fileOf(
    { event: { name: '{{name}}', startsAt: '2027-05-20T19:00Z' }, variables: [{ name: 'name', label: 'N' }] },
    { name },
  )!
  const lines = file.split('\r\n')
  expect(
    lines.filter((line) => Buffer.byteLength(line) > 75 || !line.isWellFormed() || /[\p{Cc}\u2028]/u.test(line)),
  ).toEqual([])
  const unfolded = file.replaceAll('\r\n ', '').split('\r\n')
  expect(unfolded.filter((line) => /^(?:END:VEVENT|ATTENDEE|X)/.test(line))).toEqual(['END:VEVENT'])
  expect(unfolded.find((line) => line.startsWith('SUMMARY'))).toContain('日本語 é 👩‍🚀'.repeat(30))
})

test('creates no entry without a time', () => {
  expect(fileOf({ event: { name: 'Night music' } })).toBeUndefined()
  expect(fileOf({})).toBeUndefined()
})
