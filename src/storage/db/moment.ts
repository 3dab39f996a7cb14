/** A nullable column of milliseconds as a moment. */
export function moment(value: number | null): Date | null {
  return value === null ? null : new Date(value)
}
