import { afterEach, expect, test } from 'vitest'
import { dateFormat } from '../../src/core/formats.ts'

const { TZ } = process.env

afterEach(() => {
  if (TZ === undefined) delete process.env.TZ
  else process.env.TZ = TZ
})

test('a date format without a zone follows the time zone of the device', () => {
  const timeIn = (zone: string) => {
    process.env.TZ = zone
    return dateFormat('en-GB', { hour: '2-digit', minute: '2-digit' }).format(new Date('2027-06-01T12:00:00Z'))
  }
  expect([timeIn('Europe/Berlin'), timeIn('Asia/Tokyo')]).toEqual(['14:00', '21:00'])
})
