import type { RedemptionExplanation } from '../../../core/contract/scans.ts'
import { ApiError } from '../../../core/errors.ts'
import { effectiveStatus } from '../../../core/rules/pass/pass-status.ts'
import { explainRedemption } from '../../../core/rules/redemption/redemption.ts'
import { planRedemption } from '../../../core/rules/redemption/redemption-plan.ts'
import {
  decideScan,
  decidingUse,
  decisionMessage,
  type ScanFacts,
} from '../../../core/rules/redemption/scan-decision.ts'
import type { RequestContext } from '../../context.ts'
import { placesOfUse } from '../scans/evaluate-scans.ts'

/**
 * Whether a scan at a moment would be accepted, with every check and what it looked at. Records nothing.
 * @throws Problem PASS_NOT_FOUND
 */
export async function explainPass(
  passId: string,
  question: { at?: string | undefined; validityDate?: string | undefined; scanContextKey?: string | undefined },
  { store, workspaceId, now }: RequestContext,
): Promise<RedemptionExplanation> {
  const pass = await store.passes.find(workspaceId, passId)
  if (!pass) throw new ApiError('PASS_NOT_FOUND', { details: { passId } })
  const { at, validityDate, scanContextKey = null } = question
  const realTime = at === undefined ? now : new Date(at)
  const plan = planRedemption({
    status: effectiveStatus(pass, now),
    expiresAt: pass.expiresAt,
    policy: pass.redemption,
    realTime,
    validityDate,
    scanContextKey,
  })
  const history = await store.acceptedScans.findHistory(workspaceId, pass.id, plan)
  const facts: ScanFacts = { realTime, validityDate, matchCount: 1, found: { plan, history } }
  const decision = decideScan(facts)
  const { result, reasonCode, attempt } = decision
  const [place] = await placesOfUse(store, workspaceId, [{ pass, usedAt: decidingUse(decision, facts) }])
  return {
    passId: pass.id,
    at: decision.at.toISOString(),
    scanContextKey,
    result,
    reasonCode,
    message: decisionMessage(decision, facts, place),
    redemption: pass.redemption,
    acceptedScanCount: history.total,
    checks: explainRedemption(attempt!, history),
  }
}
