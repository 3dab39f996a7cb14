/** Formats a time in an IANA zone, or in an offset such as UTC+5:30, which Intl does not accept. */
export function writeMoment(at: Date, format: Intl.DateTimeFormatOptions, language: string, zone: string): string {
  const [, sign, hours, minutes = '0'] = /^UTC([+-])(\d+)(?::(\d+))?$/.exec(zone) ?? []
  if (sign === undefined) return dateFormat(language, { ...format, timeZone: zone }).format(at)
  const local = new Date(at.getTime() + Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) * 60_000)
  const parts = dateFormat(language, { ...format, timeZone: 'UTC' }).formatToParts(local)
  return parts.map(({ type, value }) => (type === 'timeZoneName' ? zone : value)).join('')
}

/**
 * Caches formats, since creating one takes far longer than using it. A date format without a `timeZone` keeps the zone of
 * its first use: only pages use such formats, in the zone of their device, and the server passes the zone of each visitor.
 */
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
export const dateFormat = cached(
  (language, options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(language, options),
)
export const agoFormat = cached(
  (language, options: Intl.RelativeTimeFormatOptions) => new Intl.RelativeTimeFormat(language, options),
)

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

/** Returns a duration in its largest unit, rounded down. */
export function inLargestUnit(seconds: number): { unit: (typeof UNITS)[number][0]; count: number } {
  const [unit, size] = UNITS.find(([, size]) => seconds >= size) ?? UNITS[3]
  return { unit, count: Math.floor(seconds / size) }
}
