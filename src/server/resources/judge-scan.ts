import type { ScanReasonCode, ScanResult } from '../../core/contract/scan-shapes.ts'
import { statusAsOf } from '../../core/rules/pass-status.ts'
import { chargeOf, evaluateRedemption } from '../../core/rules/redemption.ts'
import { planRedemption, type RedemptionHistory, type RedemptionPlan } from '../../core/rules/redemption-plan.ts'
import { placeInTime } from '../../core/rules/redemption-windows.ts'
import { identifierDigest } from '../../core/rules/scan-code.ts'
import {
  ambiguousMessage,
  firstUseAt,
  plainMessage,
  redemptionMessage,
  wrongProjectMessage,
} from '../../core/rules/scan-message.ts'
import type { StoredPass } from '../../storage/pass-row.ts'
import type { Repositories } from '../../storage/store.ts'

/** What was scanned, where and when. */
export interface Attempt {
  qrPayload?: string | undefined
  passId?: string | undefined
  projectId?: string | undefined
  scanContextKey?: string | undefined
  /** YYYY-MM-DD. */
  validityDate?: string | undefined
  /** When it was really made. */
  realTime: Date
  /** Passes that carry the payload, found before the transaction; the id needs none. */
  matches: string[]
}

export interface Judgement {
  result: ScanResult
  reasonCode: ScanReasonCode
  message: string
  /** The operational time. */
  at: Date
  /** The one pass that was found, held until the transaction ends. */
  pass: StoredPass | null
  matches: string[]
  /** Null where no single pass was found. */
  history: RedemptionHistory | null
  /** What the attempt uses up once it is accepted, by whomever; null where no single pass was found. */
  use: { chargedWindow: string | null; exhausts: boolean } | null
}

/** The passes that a payload names; a given id decides by itself. */
export async function findMatches(
  { identifiers }: Repositories,
  workspaceId: string,
  { qrPayload, passId, projectId }: Pick<Attempt, 'qrPayload' | 'passId' | 'projectId'>,
): Promise<string[]> {
  if (passId !== undefined) return [passId]
  return identifiers.listPassIds(workspaceId, identifierDigest(qrPayload!), projectId)
}

/**
 * The verdict over an attempt, by every check in its order. Within the transaction nobody else scans or changes the pass,
 * so that what is decided still holds when it is written.
 * @param statusAt the moment whose status counts: an online scan is judged by that of now, the policy as of the attempt
 */
export async function judgeScan(
  tx: Repositories,
  workspaceId: string,
  attempt: Attempt,
  statusAt: Date,
): Promise<Judgement> {
  const { matches, projectId, qrPayload, scanContextKey = null } = attempt
  const [match, ...others] = matches
  if (others.length > 0) {
    return unfound(attempt, 'ambiguous', 'multiple_matches', ambiguousMessage(matches.length))
  }
  const pass = match === undefined ? undefined : await tx.passes.findForUpdate(workspaceId, match)
  if (!pass) return unfound({ ...attempt, matches: [] }, 'unknown', 'no_match', plainMessage('no_match'))

  const plan = planRedemption({
    status: statusAsOf(pass, statusAt),
    expiresAt: pass.expiresAt,
    policy: pass.redemption,
    realTime: attempt.realTime,
    validityDate: attempt.validityDate,
  })
  const history = await tx.acceptedScans.findHistory(workspaceId, pass.id, plan, scanContextKey)
  const { window, exhausts } = chargeOf(plan, history)
  const use = { chargedWindow: plan.isChargeStored ? (window?.key ?? null) : null, exhausts }
  const found = { at: plan.at, pass, matches, history, use }
  const denied = { result: 'denied' as const, ...found }
  if (projectId !== undefined && pass.projectId !== projectId) {
    return { ...denied, reasonCode: 'wrong_scope', message: wrongProjectMessage(pass.projectName) }
  }
  // Asked only now that the pass is held: a racing update may have replaced what it carries.
  if (qrPayload !== undefined && (await tx.identifiers.isStale(workspaceId, identifierDigest(qrPayload), pass.id))) {
    return { ...denied, reasonCode: 'stale_identifier', message: plainMessage('stale_identifier') }
  }
  const { result, reasonCode } = evaluateRedemption(plan, history)
  const message = await messageOf(tx, pass, reasonCode, plan, history)
  return { result, reasonCode, message, ...found }
}

function unfound(attempt: Attempt, result: ScanResult, reasonCode: ScanReasonCode, message: string): Judgement {
  const { at } = placeInTime(null, attempt.realTime, attempt.validityDate)
  return { result, reasonCode, message, at, pass: null, matches: attempt.matches, history: null, use: null }
}

async function messageOf(
  tx: Repositories,
  pass: StoredPass,
  code: ScanReasonCode,
  plan: RedemptionPlan,
  history: RedemptionHistory,
): Promise<string> {
  const firstAt = firstUseAt(code, plan, history)
  const firstPlace = firstAt ? await tx.acceptedScans.findPlace(pass.workspaceId, pass.id, firstAt) : undefined
  return redemptionMessage(code, { plan, history, firstPlace })
}
