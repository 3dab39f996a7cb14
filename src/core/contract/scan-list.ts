import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { Count, text, UtcTimestamp } from './common.ts'
import { anyOf, checkWindow, pageQuery, windowParams } from './list.ts'
import { LedgerReason, ScanResult } from './scan-shapes.ts'

export const scannedWindow = ['from', 'to', 'scannedSince', 'scannedUntil'] as const

const ContextKey = text(1, 128)

/** What the ledger and its figures are both narrowed by. */
const filters = {
  projectId: anyOf(Uuid).optional(),
  templateId: anyOf(Uuid).optional(),
  scanContextKey: anyOf(ContextKey).optional(),
}

/** Spec 4.13. `result=denied` is what the ledger shows: every attempt that was not accepted. */
export const ScanListQuery = pageQuery({
  passId: anyOf(Uuid).optional(),
  result: anyOf(ScanResult).optional(),
  resultGroup: anyOf(z.literal('denied')).optional(),
  reason: anyOf(LedgerReason).optional(),
  ...filters,
  ...windowParams(scannedWindow),
}).superRefine((query, context) => checkWindow(scannedWindow, query, context))

/** Both spellings of the window are taken, as in the list. Of several bounds of the contexts the wider holds. */
export const ScanStatsQuery = z
  .strictObject({
    ...filters,
    scanContextFrom: anyOf(ContextKey).optional(),
    scanContextUntil: anyOf(ContextKey).optional(),
    groupBy: anyOf(z.literal('project')).optional(),
    ...windowParams(scannedWindow),
  })
  .superRefine((query, context) => {
    checkWindow(scannedWindow, query, context)
    for (const bound of ['scanContextFrom', 'scanContextUntil'] as const) {
      if (query.scanContextKey === undefined || query[bound] === undefined) continue
      context.addIssue({ code: 'custom', path: [bound], message: 'Give either scanContextKey or a range' })
    }
  })

const figures = {
  totalPasses: Count,
  redeemed: Count.meta({ description: 'Passes with an accepted scan in the filter that was not reversed.' }),
  open: Count.meta({ description: 'totalPasses - redeemed.' }),
  totalScans: Count.meta({ description: 'Every attempt; reversals are none.' }),
  totalDenied: Count,
  lastScanAt: UtcTimestamp.nullable(),
}

/** Figures of the ledger (spec 4.13). */
export const ScanStats = z.strictObject(figures)
export type ScanStats = z.output<typeof ScanStats>

/** The same for each project; null stands for what belongs to none. */
export const ScanStatsByProject = z.strictObject({
  items: z.array(z.strictObject({ projectId: Uuid.nullable(), ...figures })),
})
export type ScanStatsByProject = z.output<typeof ScanStatsByProject>
