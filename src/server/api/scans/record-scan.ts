import type { ScanCreate } from '../../../core/contract/scans/scans.ts'
import type { ScanBalance, ScanResponse, ScanZone } from '../../../core/contract/schemas/scan-shapes.ts'
import { ApiError } from '../../../core/errors.ts'
import { reasonCodeOf, resultOf } from '../../../core/rules/redemption/scan-reasons.ts'
import { grouped } from '../../../storage/db/grouped.ts'
import type { UseCounts } from '../../../storage/scans/accepted-scans.ts'
import type { StoredScan } from '../../../storage/scans/scan-row.ts'
import type { Repositories, Store } from '../../../storage/store.ts'
import type { RequestContext } from '../../context.ts'
import { projectOfScan } from '../token-projects.ts'
import { type Attempt, type DecidedScan, type EvaluatedScan, namedPass } from './attempt.ts'
import { evaluateScans, findMatches, type ScannedBody, toStoredScan, writeScans } from './evaluate-scans.ts'
import { languageOf } from './message-languages.ts'
import { findOtherReadings } from './other-reading.ts'
import { type BalancesAfter, findBalances, writeBalances } from './scan-balances.ts'
import { atDoor, inZone, summarizePasses, toPassSummary, toScanRecord } from './scan-shapes.ts'
import { lockForRounds, retryChangedZones, toScanZone, writeMovements } from './zone-scans.ts'

const MAX_CANDIDATES = 20

/**
 * Evaluates and records a scan, in one transaction with concurrent scans. If a scan with the externalRef is already
 * recorded, even by a concurrent request, returns the response to that scan. The insert detects a recorded externalRef,
 * which saves new scans a query.
 */
export async function recordScan(given: ScanCreate, context: RequestContext): Promise<ScanResponse> {
  const { store, now } = context
  const body = atDoor({ ...inZone(given, context), projectId: projectOfScan(given.projectId, context) }, context)
  const matches = await findMatchesTogether(store, { body, context })

  // Ignore the time that a door sends: the server determines the time of online scans.
  const isDated = body.scannedAt !== undefined && !context.token.door
  const realTime = isDated ? new Date(body.scannedAt!) : now
  const [reading] = await findOtherReadings([{ ...body, matches }], context)
  const attempt = { ...body, realTime, statusAt: now, matches, language: languageOf(context), ...reading }
  const recorded = await recordTogether(store, { attempt, context, canWait: false, toScan: toStoredScan })
  if (recorded instanceof ApiError) return replayOrThrow(recorded, body, context)
  if (!recorded) return replay((await findByRef(body, context)) ?? takenRef(body.externalRef), body, context)

  const { scan, decision, zone, after } = recorded
  const { result } = decision
  const pass = after?.pass ?? decision.pass
  const isAmbiguous = result === 'ambiguous'
  const candidates = isAmbiguous ? decision.matches.slice(0, MAX_CANDIDATES) : []
  return toResponse(scan, {
    pass: pass && (await toPassSummary(pass, usesAfter(decision), scan, context)),
    candidates: (await summarizePasses(candidates, scan, context)).map(({ summary }) => summary),
    idempotentReplay: false,
    zone,
    balances: after?.balances,
  })
}

/** Returns the response to the recorded scan with the externalRef. Throws `error` if no scan has this externalRef. */
async function replayOrThrow(error: ApiError, body: ScanCreate, context: RequestContext): Promise<ScanResponse> {
  const scan = body.externalRef === undefined ? undefined : await findByRef(body, context)
  if (!scan) throw error
  return replay(scan, body, context)
}

const findMatchesTogether = grouped((store: Store, take: () => { body: ScanCreate; context: RequestContext }[]) => {
  const requests = take()
  const bodies = requests.map(({ body }) => body)
  return findMatches(store, requests[0]!.context.workspaceId, bodies)
})

/** Throws CONFLICT, because the externalRef belongs to a scan in a project that the token cannot access. */
export function takenRef(externalRef: string | undefined): never {
  throw new ApiError('CONFLICT', {
    message: 'The externalRef belongs to a scan of another project.',
    details: { externalRef },
  })
}

async function findByRef({ externalRef }: ScanCreate, context: RequestContext): Promise<StoredScan | undefined> {
  const { store, workspaceId } = context
  const [scan] = await store.scans.listByExternalRefs(workspaceId, [externalRef!])
  return scan
}

function replay(scan: StoredScan, { projectId }: ScanCreate, context: RequestContext): Promise<ScanResponse> {
  return replayResponse(scan, { idempotentReplay: true, projectId }, context)
}

/**
 * Returns the response to a recorded scan. If the payload matches several passes, `projectId` limits the candidates, as
 * in the first response.
 */
export async function replayResponse(
  scan: StoredScan,
  { idempotentReplay, projectId }: { idempotentReplay: boolean; projectId?: string | undefined },
  context: RequestContext,
): Promise<ScanResponse> {
  const { store, workspaceId } = context
  const isAmbiguous = reasonCodeOf(scan) === 'multiple_matches' && scan.payloadDigest !== null
  const codes = isAmbiguous ? [{ digest: scan.payloadDigest!, projectId }] : []
  const [candidates = []] = await store.identifiers.listPassIds(workspaceId, codes)
  const [found] = await summarizePasses(scan.passId === null ? [] : [scan.passId], scan, context)
  const shown = await summarizePasses(candidates.slice(0, MAX_CANDIDATES), scan, context)
  return toResponse(scan, {
    pass: found?.summary ?? null,
    candidates: shown.map(({ summary }) => summary),
    idempotentReplay,
    zone: scan.zoneId === null ? undefined : await findZone(scan.zoneId, context),
    balances: await findBalances(found?.pass, scan.id, context),
  })
}

async function findZone(zoneId: string, { store, workspaceId }: RequestContext): Promise<ScanZone | undefined> {
  const zone = await store.zones.find(workspaceId, zoneId)
  return zone && toScanZone(zone)
}

function usesAfter({ result, history, at, debit }: EvaluatedScan): UseCounts {
  const { total, lastAt, inContext, contextLastAt } = history!
  if (result !== 'accepted' || !debit) return { count: total, lastAt, contextCount: inContext, contextLastAt }
  const later = (other: Date | null) => (other && other > at ? other : at)
  return { count: total + 1, lastAt: later(lastAt), contextCount: inContext + 1, contextLastAt: later(contextLastAt) }
}

function toResponse(
  scan: StoredScan,
  shown: Pick<ScanResponse, 'pass' | 'candidates' | 'idempotentReplay'> & {
    zone: ScanZone | undefined
    balances: ScanBalance[] | undefined
  },
): ScanResponse {
  const result = resultOf(scan)
  return {
    result,
    reasonCode: reasonCodeOf(scan),
    scan: toScanRecord(scan),
    pass: shown.pass,
    message: scan.message,
    priorScanCount: scan.priorCount,
    isFirstScan: result === 'accepted' && scan.priorCount === 0,
    idempotentReplay: shown.idempotentReplay,
    candidates: shown.candidates,
    ...(shown.zone && { zone: shown.zone }),
    ...(shown.balances && { balances: shown.balances }),
  }
}

export interface PendingScan {
  attempt: Attempt & ScannedBody
  context: RequestContext
  /** Whether other scans take precedence. True for a large report of earlier decisions, which can wait. */
  canWait: boolean
  /** Returns the scan to store. Its decision can differ from `decision` if a device decided offline. */
  toScan(body: ScannedBody, decision: EvaluatedScan, context: RequestContext): StoredScan
}

export interface RecordedScan {
  scan: StoredScan
  decision: EvaluatedScan
  /** The state of the zone after the scan; undefined if the scan has no zone, or the zone is deleted. */
  zone: ScanZone | undefined
  /** The balances after the scan; undefined if the pass has no balances. */
  after: BalancesAfter | undefined
}

/**
 * The maximum number of scans of a pass per transaction. With a maximum of one scan, PostgreSQL took 29 s for 40
 * reports, each with 100 scans of the same pass.
 */
const MOST_OF_PASS = 8

/**
 * Evaluates and records a scan. Concurrent scans of a workspace share a transaction. Scans of the same pass are
 * evaluated in separate rounds or transactions, because each scan must count the uses of earlier scans. Scans for which
 * a person waits are recorded before reports, such as the reports of a hundred doors that reconnect. Returns undefined
 * if the externalRef is already recorded, and an error if the zone is unknown.
 */
export const recordTogether = grouped(
  (store: Store, take: () => PendingScan[]) => {
    let pending: PendingScan[] | undefined
    return retryChangedZones(() =>
      store.transaction(async (tx): Promise<(RecordedScan | ApiError | undefined)[]> => {
        pending ??= take()
        const recorded = new Map<PendingScan, RecordedScan | ApiError>()
        const rounds = roundsOf(pending)
        const attempts = pending.map(({ attempt }) => attempt)
        if (rounds.length > 1) await lockForRounds(tx, pending[0]!.context.workspaceId, attempts)
        for (const round of rounds) await recordRound(tx, round, recorded)
        return pending.map((one) => recorded.get(one))
      }),
    )
  },
  {
    keyOf: ({ attempt }) => namedPass(attempt),
    mostOfKey: MOST_OF_PASS,
    canWait: ({ canWait }) => canWait,
  },
)

/** Divides scans into rounds with at most one scan of each pass. The first round contains a scan of every pass. */
function roundsOf(pending: PendingScan[]): PendingScan[][] {
  const rounds: PendingScan[][] = []
  const countOf = new Map<string, number>()
  for (const one of pending) {
    const passId = namedPass(one.attempt)
    const place = passId === undefined ? 0 : (countOf.get(passId) ?? 0)
    if (passId !== undefined) countOf.set(passId, place + 1)
    rounds[place] = [...(rounds[place] ?? []), one]
  }
  return rounds
}

async function recordRound(
  tx: Repositories,
  pending: PendingScan[],
  recorded: Map<PendingScan, RecordedScan | ApiError>,
): Promise<void> {
  const { workspaceId, services } = pending[0]!.context
  const attempts = pending.map(({ attempt }) => attempt)
  const [decisions] = await Promise.all([
    evaluateScans(tx, workspaceId, attempts, services.definitions),
    tx.events.expect(workspaceId),
  ])
  const evaluated = new Map<DecidedScan, PendingScan>()
  for (const [n, decision] of decisions.entries()) {
    const { attempt, context, toScan } = pending[n]!
    if (decision instanceof ApiError) recorded.set(pending[n]!, decision)
    else {
      const scan = toScan(attempt, decision, context)
      evaluated.set({ scan, decision, correlationId: context.correlationId }, pending[n]!)
    }
  }
  const written = await writeScans(tx, workspaceId, [...evaluated.keys()])
  const zones = await writeMovements(tx, workspaceId, [...written])
  const balances = await writeBalances(tx, workspaceId, [...written], services.definitions)
  for (const one of written) {
    recorded.set(evaluated.get(one)!, { ...one, zone: zones.get(one), after: balances.get(one) })
  }
}
