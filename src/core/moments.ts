/** Years stay within four digits in UTC too: ISO 8601 writes others in a form that many readers refuse. */
export const EARLIEST_MOMENT = Date.parse('0000-01-01T00:00:00Z')
/** The first moment that no timestamp with a year of four digits can name, in milliseconds. */
export const LATEST_MOMENT = Date.UTC(10_000, 0)
