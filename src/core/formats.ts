/** Formats a time in a zone: an IANA name, or an offset such as UTC+5:30 (Intl does not accept this form). */
export function writeMoment(at: Date, format: Intl.DateTimeFormatOptions, language: string, zone: string): string {
  const [, sign, hours, minutes = '0'] = /^UTC([+-])(\d+)(?::(\d+))?$/.exec(zone) ?? []
  if (sign === undefined) return dateFormat(language, { ...format, timeZone: zone }).format(at)
  const local = new Date(at.getTime() + Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) * 60_000)
  const parts = dateFormat(language, { ...format, timeZone: 'UTC' }).formatToParts(local)
  return parts.map(({ type, value }) => (type === 'timeZoneName' ? zone : value)).join('')
}

/** Caches formatters of Intl, because creating a formatter takes far longer than using it. */
function cached<Options extends object, Format>(make: (language: string, options: Options) => Format) {
  const known = new Map<string, Format>()
  return (language: string, options = {} as Options): Format => {
    const key = `${language} ${JSON.stringify(options)}`
    let format = known.get(key)
    if (format === undefined) {
      if (known.size >= MAX_CACHED) known.clear()
      format = make(language, options)
      known.set(key, format)
    }
    return format
  }
}

const MAX_CACHED = 500

export const numberFormat = cached(
  (language, options: Intl.NumberFormatOptions) => new Intl.NumberFormat(language, options),
)
const zonedFormat = cached(
  (language, options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(language, options),
)

/** Does not cache a formatter without a `timeZone`, because the zone of the device can change. */
export function dateFormat(language: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return options.timeZone === undefined ? new Intl.DateTimeFormat(language, options) : zonedFormat(language, options)
}

export const agoFormat = cached(
  (language, options: Intl.RelativeTimeFormatOptions) => new Intl.RelativeTimeFormat(language, options),
)

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

/** Returns a duration in the largest unit that fits, rounded down: 7,300 seconds are 2 hours. */
export function inLargestUnit(seconds: number): { unit: (typeof UNITS)[number][0]; count: number } {
  const [unit, size] = UNITS.find(([, size]) => seconds >= size) ?? UNITS[3]
  return { unit, count: Math.floor(seconds / size) }
}

/** Returns the number of decimal places of a currency, such as 2 for EUR and 0 for JPY. */
export function currencyDigits(currency: string): number {
  return numberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 0
}
