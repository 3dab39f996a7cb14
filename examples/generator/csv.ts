import { stringify } from 'csv-stringify/sync'

/** A CSV file (RFC 4180, but with line feeds) of a header and rows; a row may be wrong on purpose. */
export function csv(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return stringify([header, ...rows] as string[][], { record_delimiter: 'unix' })
}
