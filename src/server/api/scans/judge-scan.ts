import { identifierDigest } from '../../../core/rules/crypto/scan-code.ts'
import { statusAsOf } from '../../../core/rules/pass/pass-status.ts'
import { planRedemption, type RedemptionHistory } from '../../../core/rules/redemption/redemption-plan.ts'
import {
  decideScan,
  decidingUse,
  decisionMessage,
  type FoundPass,
  type ScanDecision,
  type ScanFacts,
} from '../../../core/rules/redemption/scan-decision.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { Repositories } from '../../../storage/store.ts'

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

export interface Judgement extends ScanDecision {
  message: string
  /** The one pass that was found, held until the transaction ends. */
  pass: StoredPass | null
  matches: string[]
  /** Null where no single pass was found. */
  history: RedemptionHistory | null
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
 * The decision over an attempt. Within the transaction nobody else scans or changes the pass, so that what is decided
 * still holds when it is written.
 * @param statusAt the moment whose status counts: an online scan is judged by that of now, the policy as of the attempt
 */
export async function judgeScan(
  tx: Repositories,
  workspaceId: string,
  attempt: Attempt,
  statusAt: Date,
): Promise<Judgement> {
  const { realTime, validityDate } = attempt
  const [match, ...others] = attempt.matches
  const named = match === undefined || others.length > 0 ? undefined : match
  const pass = named === undefined ? null : ((await tx.passes.findForUpdate(workspaceId, named)) ?? null)
  // A pass that went meanwhile was never found.
  const matches = named !== undefined && !pass ? [] : attempt.matches
  const found = pass && (await lookAt(tx, pass, attempt, statusAt))
  const facts: ScanFacts = { realTime, validityDate, matchCount: matches.length, found }
  const decision = decideScan(facts)
  const message = decisionMessage(decision, facts, await placeOfUse(tx, pass, decidingUse(decision, facts)))
  return { ...decision, message, pass, matches, history: found ? found.history : null }
}

async function lookAt(tx: Repositories, pass: StoredPass, attempt: Attempt, statusAt: Date): Promise<FoundPass> {
  const { projectId, qrPayload, realTime, validityDate, scanContextKey = null } = attempt
  const plan = planRedemption({
    status: statusAsOf(pass, statusAt),
    expiresAt: pass.expiresAt,
    policy: pass.redemption,
    realTime,
    validityDate,
    scanContextKey,
  })
  const isElsewhere = projectId !== undefined && pass.projectId !== projectId
  return {
    plan,
    history: await tx.acceptedScans.findHistory(pass.workspaceId, pass.id, plan),
    elsewhere: isElsewhere ? { projectName: pass.projectName } : undefined,
    // Asked only now that the pass is held: a racing update may have replaced what it carries.
    isStaleCode:
      qrPayload !== undefined && (await tx.identifiers.isStale(pass.workspaceId, identifierDigest(qrPayload), pass.id)),
  }
}

/** Where a pass was let in that is let in no more, where a scan says so. */
export async function placeOfUse(
  { acceptedScans }: Repositories,
  pass: StoredPass | null,
  usedAt: Date | null,
): Promise<string | undefined> {
  return pass && usedAt ? acceptedScans.findPlace(pass.workspaceId, pass.id, usedAt) : undefined
}
