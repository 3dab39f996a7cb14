import { z } from 'zod'
import { LedgerReason, ScanContext } from '../../../core/contract/scan-shapes.ts'

/** What a console writes into its log, one record a line. */

/** A verdict that was made without the server, as POST /v1/scans/offline will take it. */
const Verdict = z.strictObject({
  kind: z.literal('verdict'),
  externalRef: z.string(),
  /** The list that it was judged by. */
  snapshotId: z.string(),
  qrPayload: z.string().optional(),
  passId: z.string().optional(),
  /** When it was held up. */
  scannedAt: z.string(),
  /** As of which date it was judged, and when the scan stands for then. */
  validityDate: z.string().optional(),
  operationalAt: z.string().optional(),
  result: z.enum(['accepted', 'denied']),
  reason: LedgerReason,
  scanContextKey: z.string().optional(),
  deviceId: z.string().optional(),
  context: ScanContext.optional(),
  /** The pass that was let in; what later scans are judged by. */
  acceptedPassId: z.string().nullable(),
})
export type OfflineVerdict = z.output<typeof Verdict>

/** An accepted scan that the server knows of and the stored list may not: passes that this console let in online. */
const Accepted = z.strictObject({
  kind: z.literal('accepted'),
  passId: z.string(),
  scannedAt: z.string(),
  scanContextKey: z.string().nullable(),
  validityDate: z.string().optional(),
  recordedAt: z.string(),
})
export type AcceptedOnline = z.output<typeof Accepted>

/** A scan that was taken back, by the moment it stands in the ledger for. */
const Reversed = z.strictObject({
  kind: z.literal('reversed'),
  passId: z.string(),
  scannedAt: z.string(),
  recordedAt: z.string(),
})
export type ReversedScan = z.output<typeof Reversed>

/** The server has it: with the time it recorded it, or null where it refused it for good. */
const Uploaded = z.strictObject({
  kind: z.literal('uploaded'),
  externalRef: z.string(),
  recordedAt: z.string().nullable(),
})
export type UploadedVerdict = z.output<typeof Uploaded>

export const LogRecord = z.discriminatedUnion('kind', [Verdict, Accepted, Reversed, Uploaded])
export type LogRecord = z.output<typeof LogRecord>
