/** The figures of a gate in `GET /v1/scans/stats?groupBy=gate`. */
interface GateFigures {
  totalScans: number
  totalDenied: number
  reversed: number
  exits?: number | undefined
}

/** Returns the number of people admitted at a gate, which does not include exits from zones. */
export function admittedAt({ totalScans, totalDenied, reversed, exits = 0 }: GateFigures): number {
  return totalScans - totalDenied - reversed - exits
}
