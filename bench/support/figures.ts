/** The lower or upper limit of a figure. */
export type Limit = { atLeast: number } | { atMost: number }

/**
 * Prints a figure as one line, which `bench/run.ts` collects: `= GET of one pass, SQLite: 0.71 (at least 0.6) met`. The
 * process exits with 1 if a limit is missed.
 */
export function figure(what: string, value: number, limit: Limit, unit = ''): void {
  const isMet = 'atLeast' in limit ? value >= limit.atLeast : value <= limit.atMost
  const words = 'atLeast' in limit ? `at least ${limit.atLeast}` : `at most ${limit.atMost}`
  console.log(`= ${what}: ${rounded(value)}${unit} (${words}) ${isMet ? 'met' : 'MISSED'}`)
  if (!isMet) process.exitCode = 1
}

export interface Figure {
  what: string
  measured: string
  limit: string
  met: string
}

/** Returns the figures in the output of a benchmark. */
export function parseFigures(text: string): Figure[] {
  return [...text.matchAll(/^= (.+): (\S+(?: MB| ms)?) \((at \w+ [\d.]+)\) (met|MISSED)$/gm)].map(
    ([, what, measured, limit, met]) => ({ what: what!, measured: measured!, limit: limit!, met: met! }),
  )
}

function rounded(value: number): string {
  return value < 10 ? value.toFixed(2) : String(Math.round(value))
}
