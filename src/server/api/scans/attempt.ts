import type { RuledBalance } from '../../../core/rules/balances/balances.ts'
import type { RedemptionHistory } from '../../../core/rules/redemption/redemption-plan.ts'
import type { ScanDecision } from '../../../core/rules/redemption/scan-decision.ts'
import type { DoorLanguage } from '../../../core/rules/redemption/scan-message.ts'
import type { Direction } from '../../../core/rules/zones/presence.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { StoredScan } from '../../../storage/scans/scan-row.ts'
import type { FoundMovements } from '../../../storage/zones/movements-repository.ts'
import type { StoredZone } from '../../../storage/zones/zones-repository.ts'

export interface Attempt {
  qrPayload?: string | undefined
  passId?: string | undefined
  projectId?: string | undefined
  scanContextKey?: string | undefined
  /** The date for which the policy is evaluated, as YYYY-MM-DD. Default: the time of the attempt. */
  validityDate?: string | undefined
  /** The actual time of the attempt. Without a `validityDate`, the policy is evaluated for this time. */
  realTime: Date
  /**
   * The time at which the status of the pass is evaluated. For an online scan, this is now, even if the request
   * contains another time for the policy.
   */
  statusAt: Date
  /** The language of messages to door staff. Default: English. */
  language?: DoorLanguage
  zoneId?: string | undefined
  /** The direction of a scan with a zone. Default: in. */
  direction?: Direction | undefined
  /** The decision of the device, if the attempt was decided offline. */
  result?: 'accepted' | 'denied' | undefined
  /** The `passId` of the request, or the IDs of the passes with the payload. Determined before the transaction. */
  matches: string[]
}

export interface EvaluatedScan extends ScanDecision {
  message: string
  /** The pass, if exactly one matched. It is locked until the transaction ends. */
  pass: StoredPass | null
  matches: string[]
  history: RedemptionHistory | null
  realTime: Date
  /** The movement that the attempt would make; undefined for an attempt without a zone. */
  movement: ZoneAttempt | undefined
  /** The balances of the pass before the scan; undefined if it has none. */
  balances: RuledBalance[] | undefined
}

/** Returns the pass of an attempt; undefined if the attempt matches no pass or several. */
export function namedPass({ matches: [match, ...others] }: Pick<Attempt, 'matches'>): string | undefined {
  return others.length > 0 ? undefined : match
}

/** The zone, direction, and neighboring movements of an attempt, read in the transaction of the scan. */
export interface ZoneAttempt {
  zone: StoredZone
  direction: Direction
  /** The pass's movements in the zone before and after the attempt; undefined unless exactly one pass matched. */
  around: FoundMovements | undefined
}

export interface DecidedScan {
  scan: StoredScan
  decision: EvaluatedScan
  correlationId: string
}
