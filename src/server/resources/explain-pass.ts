import type { RedemptionExplanation } from '../../core/contract/scans.ts'
import { Problem } from '../../core/errors.ts'
import { effectiveStatus } from '../../core/rules/pass-status.ts'
import { evaluateRedemption, explainRedemption } from '../../core/rules/redemption.ts'
import { planRedemption } from '../../core/rules/redemption-plan.ts'
import { firstUseAt, redemptionMessage } from '../../core/rules/scan-message.ts'
import type { RequestContext } from '../context.ts'

/**
 * Whether a scan at a moment would be accepted, with every check and what it looked at. Records nothing.
 * @throws Problem PASS_NOT_FOUND
 */
export async function explainPass(
  passId: string,
  question: { at?: string | undefined; scanContextKey?: string | undefined },
  { store, workspaceId, now }: RequestContext,
): Promise<RedemptionExplanation> {
  const pass = await store.passes.find(workspaceId, passId)
  if (!pass) throw new Problem('PASS_NOT_FOUND', { details: { passId } })
  const { at, scanContextKey = null } = question
  const plan = planRedemption({
    status: effectiveStatus(pass, now),
    expiresAt: pass.expiresAt,
    policy: pass.redemption,
    realTime: at === undefined ? now : new Date(at),
  })
  const history = await store.acceptedScans.findHistory(workspaceId, pass.id, plan, scanContextKey)
  const { result, reasonCode } = evaluateRedemption(plan, history)
  const firstAt = firstUseAt(reasonCode, plan, history)
  const firstPlace = firstAt ? await store.acceptedScans.findPlace(workspaceId, pass.id, firstAt) : undefined
  return {
    passId: pass.id,
    at: plan.at.toISOString(),
    scanContextKey,
    result,
    reasonCode,
    message: redemptionMessage(reasonCode, { plan, history, firstPlace }),
    redemption: pass.redemption,
    acceptedScanCount: history.total,
    checks: explainRedemption(plan, history),
  }
}
