import { count, duration, table } from '../command/output.ts'

/** The result of a stage. All values except sums and times should be 0. */
export interface StageResult {
  stage: string
  seconds: number
  /** Phones that still use an old service, or whose service does not know them. */
  phonesLost: number
  /** Packages that Wallet treats as another pass, which the user would have to add. */
  reinstalled: number
  packages: number
  /** Packages verified by openssl. */
  packagesChecked: number
  /** Packages rejected by openssl or by a phone. */
  packagesRefused: number
  updates: number
  /** Phones that do not show the last update of their pass. */
  updatesMissed: number
  scans: number
  scansRefusedWrongly: number
  /** The longest time without a scan response. */
  longestGapSeconds: number
}

/** Names of the values that must be 0. */
const faults = ['phonesLost', 'reinstalled', 'packagesRefused', 'updatesMissed', 'scansRefusedWrongly'] as const

export function isSound(result: StageResult): boolean {
  return faults.every((name) => result[name] === 0)
}

/** Combines all stages: sums, the longest gap, and the phones of the last stage. */
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
