import type { Sent } from './postgres/pipeline.ts'

/** Quoted text and names, which may hold a question mark, and the places of values. */
const QUOTED_OR_PLACE = /'[^']*'|"[^"]*"|`[^`]*`|\?/g

/**
 * Statements as one text, their values written into it: what SQLite runs in one go, where each by itself would wait for the
 * thread before the next: beside tenants that attack, a void held the writer for 5 ms instead of 11, and a scan for 4 instead of 7
 * (decisions/0004). Only for what answers nothing.
 */
export function scriptOf(statements: Sent[]): string {
  return statements.map(withValues).join(';\n')
}

function withValues({ sql, bindings = [] }: Sent): string {
  let place = 0
  const text = sql.replaceAll(QUOTED_OR_PLACE, (found) => {
    if (found !== '?') return found
    place += 1
    return literal(bindings[place - 1])
  })
  if (place !== bindings.length) throw new Error(`${bindings.length} values for ${place} places in ${sql}`)
  return text
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (typeof value === 'number' && Number.isFinite(value))
    return Number.isInteger(value) ? String(value) : fraction(value)
  if (value instanceof Uint8Array) return `x'${Buffer.from(value).toString('hex')}'`
  if (typeof value !== 'string') throw new Error(`A value of SQLite cannot be a ${typeof value}`)
  // SQLite takes a text of statements to end at a NUL, and knows no way to write one.
  if (value.includes('\0')) return `cast(x'${Buffer.from(value).toString('hex')}' as text)`
  return `'${value.replaceAll("'", "''")}'`
}

/** SQLite reads some fractions off by their last bit: so as a whole number that is divided by powers of two, which is exact. */
function fraction(value: number): string {
  let whole = value
  let halvings = 0
  while (!Number.isInteger(whole)) {
    whole *= 2
    halvings += 1
  }
  const divisors = Array<number>(Math.floor(halvings / 30)).fill(2 ** 30)
  return `(cast(${whole} as real)${[...divisors, 2 ** (halvings % 30)].map((divisor) => ` / ${divisor}`).join('')})`
}
