import { count, duration, table } from '../command/output.ts'

/** What one stage came to. All but the sums and the times should be 0. */
export interface StageResult {
  stage: string
  seconds: number
  /** Phones that ask where they should not any more, or whose server does not know them. */
  phonesLost: number
  /** Packages that are another pass to Wallet, which somebody would have to add. */
  reinstalled: number
  packages: number
  /** Packages that openssl was given. */
  packagesChecked: number
  /** By openssl, or by a phone. */
  packagesRefused: number
  updates: number
  /** Phones that do not show the last update of their pass. */
  updatesMissed: number
  scans: number
  scansRefusedWrongly: number
  /** Without a scan that was answered. */
  longestGapSeconds: number
}

/** Names of what must be 0. */
const faults = ['phonesLost', 'reinstalled', 'packagesRefused', 'updatesMissed', 'scansRefusedWrongly'] as const

/** Whether nothing went wrong. */
export function isSound(result: StageResult): boolean {
  return faults.every((name) => result[name] === 0)
}

/** All stages in one: sums, the longest gap, and of phones those of the last stage. */
export function total(stages: readonly StageResult[]): StageResult {
  const sum = (name: Exclude<keyof StageResult, 'stage'>) => stages.reduce((all, stage) => all + stage[name], 0)
  return {
    stage: 'all',
    seconds: sum('seconds'),
    phonesLost: sum('phonesLost'),
    reinstalled: sum('reinstalled'),
    packages: sum('packages'),
    packagesChecked: sum('packagesChecked'),
    packagesRefused: sum('packagesRefused'),
    updates: sum('updates'),
    updatesMissed: sum('updatesMissed'),
    scans: sum('scans'),
    scansRefusedWrongly: sum('scansRefusedWrongly'),
    longestGapSeconds: Math.max(0, ...stages.map(({ longestGapSeconds }) => longestGapSeconds)),
  }
}

/** The table of a drill. */
export function drillTable(stages: readonly StageResult[], width: number | undefined): string {
  const rows = [...stages, total(stages)]
  return table(
    rows,
    [
      { title: 'stage', value: ({ stage }) => stage },
      { title: 'time', value: ({ seconds }) => duration(seconds) },
      { title: 'lost', value: ({ phonesLost }) => count(phonesLost) },
      { title: 'reinstalled', value: ({ reinstalled }) => count(reinstalled) },
      { title: 'refused', value: (row) => `${count(row.packagesRefused)} of ${count(row.packages)}` },
      { title: 'missed', value: (row) => `${count(row.updatesMissed)} of ${count(row.updates)}` },
      { title: 'wrong scans', value: (row) => `${count(row.scansRefusedWrongly)} of ${count(row.scans)}` },
      { title: 'longest gap', value: ({ longestGapSeconds }) => duration(longestGapSeconds) },
    ],
    { width },
  )
}
