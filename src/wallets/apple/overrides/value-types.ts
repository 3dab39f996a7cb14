import { createPublicKey } from 'node:crypto'
import { z } from 'zod'
import { isTimeZone } from '../../../core/rules/redemption/time-zones.ts'

/** The types of values in pass.json. A type is a JSON type, and further restrictions are rules (code custom). */

export const text = z.string()
export const number = z.number()
export const boolean = z.boolean()
export const textList = z.array(text)

/** Returns the schema of an enum of texts. */
export const oneOf = (...values: string[]) =>
  text.refine((value) => values.includes(value), `Must be one of ${values.join(', ')}`)

/** Apple's date format: seconds and their fraction are optional, and the offset is required. */
const W3C_DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/

/** Whether a value is a valid date in Apple's format. */
export function isW3cDate(value: unknown): boolean {
  if (typeof value !== 'string' || !W3C_DATE.test(value) || Number.isNaN(Date.parse(value))) return false
  // Date.parse accepts February 30 as a day in March.
  const day = value.slice(0, 10)
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)
}

/** A date and time with an offset. Seconds are optional. */
export const W3cDate = text.refine(isW3cDate, 'Must be a date and time with an offset, such as 2027-05-31T19:30+02:00')

/** A color as rgb(…) or in hexadecimal. */
export const Color = text.refine(
  (value) => toRgb(value) !== undefined,
  'Must be a color such as rgb(26, 43, 60), #1a2b3c or #abc',
)

const RGB = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/i

/** Converts a color to the form of Apple's documents. Returns `undefined` for an invalid color. */
export function toRgb(color: string): string | undefined {
  const channelTexts = RGB.exec(color)?.slice(1)
  if (channelTexts?.every((channel) => Number(channel) <= 255)) return color
  if (!/^#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$/.test(color)) return undefined
  const digits = color.length === 4 ? [...color.slice(1)].map((digit) => digit + digit).join('') : color.slice(1)
  const channels = [0, 2, 4].map((start) => Number.parseInt(digits.slice(start, start + 2), 16))
  return `rgb(${channels.join(', ')})`
}

/** A currency code of ISO 4217. */
export const Currency = text.refine((value) => /^[A-Z]{3}$/.test(value), 'Must be a currency of ISO 4217, such as EUR')

/** An IANA time zone. */
export const TimeZone = text.refine(isTimeZone, 'Must be an IANA time zone, such as Europe/Lisbon')

/** A URL with http or https. */
export const WebAddress = text.refine(
  (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
  'Must be an address that begins with https:// or http://',
)

/** A URL with any scheme. */
export const Address = text.refine(
  (value) => URL.canParse(value),
  'Must be an address with its scheme, such as https://example.com/ or myapp://ticket',
)

/** A position, in degrees. */
export const Place = z.looseObject({
  latitude: number.refine((value) => Math.abs(value) <= 90, 'Must be from -90 to 90'),
  longitude: number.refine((value) => Math.abs(value) <= 180, 'Must be from -180 to 180'),
})

/** Numbers of apps in the App Store. */
export const StoreIdentifiers = z.array(
  number.refine((value) => Number.isSafeInteger(value) && value > 0, 'Must be the number of an app in the App Store'),
)

const MAX_NFC_BYTES = 64

/** The message of a pass to an NFC reader. */
export const NfcMessage = text.refine((value) => {
  const bytes = Buffer.byteLength(value)
  return bytes > 0 && bytes <= MAX_NFC_BYTES
}, `Must have 1 to ${MAX_NFC_BYTES} bytes`)

/** The public key of NFC readers. */
export const NfcKey = text.refine(
  isP256Key,
  'Must be the public key of the readers: on the curve P-256, X.509 SubjectPublicKeyInfo in base64',
)

function isP256Key(value: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(value, 'base64'), format: 'der', type: 'spki' })
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
  } catch {
    // Not a key.
    return false
  }
}
