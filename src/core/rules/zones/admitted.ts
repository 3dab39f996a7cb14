import type { ScanStatsByGate } from '../../contract/scans/scans.ts'

type GateFigures = Omit<ScanStatsByGate['items'][number], 'gate'>

/** Returns the number of people admitted at a gate. Exits from zones do not count. */
export function admittedAt({ totalScans, totalDenied, reversed, exits = 0 }: GateFigures): number {
  return totalScans - totalDenied - reversed - exits
}
