import { expect, test } from 'vitest'
import type { ValueKind } from '../../../../src/core/contract/schemas/definition.ts'
import { readAppleField, toAppleValue } from '../../../../src/core/rules/display/apple-value.ts'
import { formatValue, type ValueLocale, type ValueType } from '../../../../src/core/rules/display/format-value.ts'

const lisbon = { language: 'en', timeZone: 'Europe/Lisbon' }
const plain = { language: 'en' }

/** Intl formats with spaces of several widths. */
const withPlainSpaces = (text: string) => text.replaceAll(/[\u00a0\u202f]/g, ' ')

const cases: [as: ValueKind, value: string, shown: string, locale?: ValueLocale, type?: ValueType][] = [
  ['text', ' 1250 ', ' 1250 '],
  ['number', '1250', '1,250'],
  ['number', '1250.5', '1.250,5', { language: 'de' }],
  ['number', '-0.25', '-0.25'],
  ['number', '12345678901234567890', '12,345,678,901,234,567,890'],
  ['number', 'many', 'many'],
  ['number', '', ''],
  ['percent', '15', '15%'],
  ['percent', '2.5', '2,5 %', { language: 'de' }],
  ['currency', '12.5', '€12.50', plain, { currency: 'EUR' }],
  ['currency', '12.5', '12,50 €', { language: 'pt-PT' }, { currency: 'EUR' }],
  ['currency', '1250', '¥1,250', plain, { currency: 'JPY' }],
  ['currency', '99999999999999999.99', '99.999.999.999.999.999,99 €', { language: 'de' }, { currency: 'EUR' }],
  ['currency', '12', '12', plain, { currency: 'euro' }],
  ['date', '2027-05-31', '5/31/27'],
  ['date', '2027-05-31', '31. Mai 2027', { language: 'de', timeZone: 'America/Los_Angeles' }, { style: 'long' }],
  ['date', '2027-05-31T23:30:00Z', '6/1/27', lisbon],
  ['time', '19:30', '7:30 PM'],
  ['time', '2027-05-31T19:30:00Z', '8:30 PM GMT+1', lisbon],
  ['time', '2027-05-31T19:30:00Z', '22:30 OESZ', { language: 'de', timeZone: 'Europe/Kyiv' }],
  ['time', '2027-05-31T19:30:00Z', '4:30 JST', { language: 'ja', timeZone: 'Asia/Tokyo' }],
  ['time', '2027-05-31T19:30:00Z', '8:30 م غرينتش+1', { language: 'ar', timeZone: 'Europe/Lisbon' }],
  [
    'time',
    '2027-05-31T19:30:00Z',
    '1:15:00 AM UTC+5:45',
    { language: 'en', fallbackZone: 'UTC+5:45' },
    { style: 'long' },
  ],
  ['date', '2027-05-31T01:30:00Z', '5/30/27', { language: 'en', fallbackZone: 'UTC-2' }],
  ['time', '19:30', '7:30:00 PM', lisbon, { style: 'long' }],
  ['time', '2027-05-31T19:30:00Z', '7:30 PM UTC'],
  ['time', '2027-05-31T19:30:00Z', '8:30 PM GMT+1', { language: 'en', fallbackZone: 'Europe/Lisbon' }],
  ['dateTime', '2027-05-31T23:30:00Z', '6/1/27, 2:30 AM GMT+3', { language: 'en', fallbackZone: 'Europe/Istanbul' }],
  ['date', '2027-05-31T23:30:00Z', '6/1/27', { language: 'en', fallbackZone: 'Europe/Lisbon' }],
  ['dateTime', '2027-05-31T19:30:00+02:00', 'May 31, 2027, 6:30 PM GMT+1', lisbon, { style: 'medium' }],
  ['dateTime', '2027-05-31', '2027-05-31', lisbon],
  ['relative', '2027-05-31', '5/31/27'],
  ['relative', '2027-05-31T19:30Z', '5/31/27, 8:30 PM GMT+1', lisbon],
]

test.each(cases)('formats %j as %s: %j', (as, value, shown, locale = plain, type = {}) => {
  expect(withPlainSpaces(formatValue(value, { ...type, as }, locale))).toBe(shown)
})

test.each(cases)(
  'an iPhone is given %s %j so that it shows the same, without the name of a zone that is not its own',
  (as, value, shown, locale = plain, type = {}) => {
    const given = toAppleValue(value, { ...type, as }, locale)
    const asOnPhone = locale.timeZone && as !== 'date' ? shown.replace(/ (?:GMT|OESZ|JST|غرينتش)\S*$/, '') : shown
    expect(withPlainSpaces(readAppleField({ key: 'k', label: '', ...given }, locale).value)).toBe(asOnPhone)
  },
)

test.each<[string, ValueKind, object, ValueType?]>([
  ['1250', 'number', { value: 1250, numberStyle: 'PKNumberStyleDecimal' }],
  ['15', 'percent', { value: 0.15, numberStyle: 'PKNumberStylePercent' }],
  // An iPhone would round values that its style cannot show.
  ['2.5', 'percent', { value: '2.5%' }],
  ['12.50', 'currency', { value: 12.5, currencyCode: 'EUR' }, { currency: 'EUR' }],
  ['9007199254740993', 'number', { value: '9,007,199,254,740,993' }],
  [
    '2027-05-31',
    'date',
    {
      value: '2027-05-31T00:00:00Z',
      dateStyle: 'PKDateStyleLong',
      timeStyle: 'PKDateStyleNone',
      ignoresTimeZone: true,
    },
    { style: 'long' },
  ],
  [
    '2027-05-31T19:30:00Z',
    'relative',
    {
      value: '2027-05-31T20:30:00+01:00',
      dateStyle: 'PKDateStyleShort',
      timeStyle: 'PKDateStyleShort',
      isRelative: true,
      ignoresTimeZone: true,
    },
  ],
])('pass.json holds %j as %s in its own type', (value, as, field, type = {}) => {
  expect(toAppleValue(value, { ...type, as }, lisbon)).toEqual(field)
})
