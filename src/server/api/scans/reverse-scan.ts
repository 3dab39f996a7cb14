import type { ScanAnswer } from '../../../core/contract/scan-shapes.ts'
import type { ScanReversal } from '../../../core/contract/scans.ts'
import { ApiError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { reversalMessage } from '../../../core/rules/redemption/scan-decision.ts'
import type { StoredScan } from '../../../storage/scans/scan-row.ts'
import type { RequestContext } from '../../context.ts'
import { audit } from '../audit.ts'
import { replayResponse } from './record-scan.ts'
import { writeScanEvents } from './write-scan.ts'

/**
 * Takes an accepted scan back: it counts no more, and the ledger gains an item that says so.
 * @throws Problem NOT_FOUND, CONFLICT
 */
export async function reverseScan(scanId: string, body: ScanReversal, context: RequestContext): Promise<ScanAnswer> {
  const { store, workspaceId } = context
  const scan = await store.scans.find(workspaceId, scanId)
  if (!scan) throw new ApiError('NOT_FOUND', { message: 'There is no such scan.', details: { scanId } })
  const { passId } = scan
  if (scan.result !== 'accepted' || passId === null) throw conflict(scan, 'Only an accepted scan can be reversed.')
  const written = await store.transaction(async (tx) => {
    // Held as for a scan, so that one that is judged meanwhile counts it or does not, and nothing in between.
    await tx.passes.findForUpdate(workspaceId, passId)
    if (!(await tx.acceptedScans.isCounted(workspaceId, scan.id))) return undefined
    const uses = await tx.acceptedScans.listCounts(workspaceId, [passId], scan.scanContextKey)
    const reversal = toReversal(scan, body, uses.get(passId)!.count, context)
    if (!(await tx.scans.insert(workspaceId, [reversal])).has(reversal.id)) return undefined
    await tx.acceptedScans.delete(workspaceId, scan.id)
    await writeScanEvents(tx, workspaceId, [{ scan: reversal, correlationId: context.correlationId }])
    await audit(tx, context, 'scan.reverse', scan.id)
    return reversal
  })
  return written ? replayResponse(written, { idempotentReplay: false }, context) : replayReversal(scan, body, context)
}

/** The same reversal once more, or a second one. */
async function replayReversal(scan: StoredScan, body: ScanReversal, context: RequestContext): Promise<ScanAnswer> {
  const { store, workspaceId } = context
  const refs = body.externalRef === undefined ? [] : [body.externalRef]
  const [known] = await store.scans.listByExternalRefs(workspaceId, refs)
  if (known?.reversesScanId === scan.id) return replayResponse(known, { idempotentReplay: true }, context)
  throw conflict(scan, known ? 'The externalRef belongs to another scan.' : 'The scan was reversed already.')
}

function conflict(scan: StoredScan, message: string): ApiError {
  return new ApiError('CONFLICT', { message, details: { scanId: scan.id } })
}

function toReversal(
  scan: StoredScan,
  body: ScanReversal,
  priorCount: number,
  { now, token }: RequestContext,
): StoredScan {
  return {
    ...scan,
    id: newId(now),
    result: 'reversal',
    reason: null,
    reasonCode: null,
    message: reversalMessage(scan.scannedAt, scan.redemption),
    verified: 'online',
    matchedCount: 1,
    priorCount,
    payloadDigest: null,
    scannedAt: now,
    recordedAt: now,
    deviceId: body.deviceId ?? null,
    externalRef: body.externalRef ?? null,
    context: body.context ?? null,
    conflict: null,
    deviceTime: null,
    validateAsOf: null,
    reversesScanId: scan.id,
    reversalReason: body.reason ?? null,
    tokenId: token.id,
  }
}
