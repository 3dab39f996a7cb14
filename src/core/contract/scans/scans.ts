import { z } from 'zod'
import { spokenLanguages } from '../../../locales/languages.ts'
import { MAX_PAYLOAD_CHARACTERS } from '../../bounds.ts'
import { Uuid } from '../../ids.ts'
import { redemptionChecks } from '../../rules/redemption/redemption.ts'
import { CalendarDate, Count, MAX_BUCKETS, pageOf, route, Timestamp, text, UtcTimestamp } from '../schemas/common.ts'
import { param } from '../schemas/list-parameters.ts'
import { RedemptionPolicy } from '../schemas/redemption.ts'
import { ScanListQuery, ScanStatsQuery } from '../schemas/scan-list-query.ts'
import {
  Direction,
  LedgerReason,
  ScanContext,
  ScanItem,
  ScanReasonCode,
  ScanResponse,
  ScanResult,
} from '../schemas/scan-shapes.ts'

const figures = {
  totalPasses: Count,
  redeemed: Count.describe('Passes with an accepted scan that matches the filters and was not reversed.'),
  open: Count.describe('totalPasses - redeemed.'),
  totalScans: Count.describe('All attempts, without reversals.'),
  totalDenied: Count,
  lastScanAt: UtcTimestamp.nullable(),
}

/** Figures of the scan ledger. */
export const ScanStats = z.strictObject(figures)
export type ScanStats = z.output<typeof ScanStats>

/** Figures of each project. Scans without a project are counted under `null`. */
export const ScanStatsByProject = z.strictObject({
  items: z.array(z.strictObject({ projectId: Uuid.nullable(), ...figures })),
})
export type ScanStatsByProject = z.output<typeof ScanStatsByProject>

/** The maximum number of gates in a response with figures per gate. */
export const MAX_GATES = 1_000

/** Figures of each gate. The gate of a scan is its `context.gate`. */
export const ScanStatsByGate = z.strictObject({
  items: z
    .array(
      z.strictObject({
        gate: z
          .string()
          .nullable()
          .describe('The first 100 characters of context.gate. Null for scans without a gate.'),
        totalScans: figures.totalScans,
        totalDenied: figures.totalDenied,
        reversed: Count.describe('Reversals that were made at this gate.'),
        exits: z
          .int()
          .optional()
          .describe(
            'Exits from zones, minus the exits that were reversed at this gate. Absent if 0. The people admitted at ' +
              'this gate are totalScans - totalDenied - reversed - exits.',
          ),
      }),
    )
    .max(MAX_GATES)
    .describe('Gates with the most scans first.'),
})
export type ScanStatsByGate = z.output<typeof ScanStatsByGate>
/** The numbers of scan attempts per bucket. The parameter `by` sets the length of the buckets. */
export const ScanStatsByTime = z.strictObject({
  items: z
    .array(
      z.strictObject({
        at: UtcTimestamp.describe(
          'The start of the hour, day, week, or month in the zone. The first item can start before `from`.',
        ),
        totalScans: figures.totalScans,
        totalDenied: figures.totalDenied,
      }),
    )
    .max(MAX_BUCKETS),
})
export type ScanStatsByTime = z.output<typeof ScanStatsByTime>

/** The request body of POST /v1/scans. */
export const ScanCreate = z
  .strictObject({
    qrPayload: text(1, MAX_PAYLOAD_CHARACTERS).optional(),
    passId: Uuid.optional(),
    projectId: Uuid.optional(),
    scanContextKey: text(1, 128).optional(),
    validityDate: CalendarDate.optional(),
    scannedAt: Timestamp.optional(),
    deviceId: text(0, 128).optional(),
    externalRef: text(1, 255).optional(),
    context: ScanContext.optional(),
    zoneId: Uuid.optional().describe('The zone that the pass enters or leaves. Default for a door: its zone.'),
    direction: Direction.optional().describe(
      'Default: the direction of the door if the scan is in the zone of the door, else `in`.',
    ),
  })
  .refine(({ qrPayload, passId }) => qrPayload !== undefined || passId !== undefined, {
    path: ['qrPayload'],
    error: 'Give qrPayload or passId',
  })
export type ScanCreate = z.output<typeof ScanCreate>

/** The request body that reverses an accepted scan. */
export const ScanReversal = z.strictObject({
  reason: text(1, 255).optional(),
  externalRef: text(1, 255).optional(),
  deviceId: text(0, 128).optional(),
  context: ScanContext.optional(),
})
export type ScanReversal = z.output<typeof ScanReversal>

/** The result of one check of a redemption policy. Checks run in order, and the first failed check decides. */
export const RedemptionCheck = z.strictObject({
  check: z.enum(redemptionChecks),
  outcome: z.enum(['passed', 'failed', 'not_applicable']),
  facts: z.record(z.string(), z.unknown()).describe('The values that the check compared.'),
})
export type RedemptionCheck = z.output<typeof RedemptionCheck>

/** Whether a pass would be accepted at a time, and why. */
export const RedemptionExplanation = z.strictObject({
  passId: Uuid,
  at: UtcTimestamp,
  scanContextKey: z.string().nullable(),
  result: ScanResult,
  reasonCode: ScanReasonCode,
  message: z.string(),
  redemption: RedemptionPolicy.nullable(),
  acceptedScanCount: Count,
  checks: z.array(RedemptionCheck),
})
export type RedemptionExplanation = z.output<typeof RedemptionExplanation>

/** The request body of a replay, which evaluates the recorded scans of a period under another policy. */
export const PolicyReplay = z
  .strictObject({
    projectId: Uuid,
    templateId: Uuid.optional(),
    policy: RedemptionPolicy,
    from: Timestamp,
    to: Timestamp,
  })
  .refine(({ from, to }) => Date.parse(from) <= Date.parse(to), { path: ['to'], error: 'Must not be before "from"' })
export type PolicyReplay = z.output<typeof PolicyReplay>

const ReasonChanges = z
  .array(z.strictObject({ from: LedgerReason, to: LedgerReason, count: Count }))
  .describe('Changed results by recorded reason (from) and new reason (to), most frequent first.')

/** The result of a replay: how the decisions on recorded scans change under another policy. */
export const PolicyReplayResult = z.strictObject({
  scans: Count.describe('Attempts between `from` and `to`, without reversals.'),
  changed: Count,
  byReason: ReasonChanges,
  byGate: z
    .array(z.strictObject({ gate: z.string().nullable(), changed: Count, byReason: ReasonChanges }))
    .max(100)
    .describe('Gates with changes, most changes first.'),
})
export type PolicyReplayResult = z.output<typeof PolicyReplayResult>

const DoorClock = z.object({
  'x-time-zone': param(
    z.string(),
    'The IANA time zone for times in `message`. If the header is missing or the server does not know the zone, ' +
      'times are in the zone of the redemption policy.',
    'Europe/Berlin',
  ),
})

/** Routes of scans. */
export const scans = {
  create: route('POST', '/v1/scans', {
    scope: 'scans:write',
    forDoors: true,
    summary: 'Scan a pass',
    description:
      'Every attempt is recorded and returns 200, accepted or not. If you send a request with the same externalRef ' +
      'again, the response has the first decision, and nothing is recorded. A token that is restricted to projects ' +
      'finds only passes of these projects. If the token is restricted to several projects, projectId is required. ' +
      'With zoneId, the scan is an entry into the zone (direction in) or an exit (out). An entry is evaluated with ' +
      'the policy, and is a duplicate if the pass is already inside. A pass that left the zone enters again without ' +
      'debiting a use if the use of its last entry was debited in the same window and period of the policy. If the ' +
      'policy has neither windows nor a period, the use must have been debited in the same scan context instead. An ' +
      'exit requires only that the pass is inside. If the zone does not exist, or belongs to another project, nothing is recorded. ' +
      `\`message\` is in the language of Accept-Language if it is one of the ${spokenLanguages.length} supported ` +
      'languages, and in English otherwise. Errors of this endpoint have no errorCode.',
    errorsWithoutCode: true,
    errors: ['NOT_FOUND', 'CONFLICT'],
    headers: DoorClock,
    body: ScanCreate,
    responses: { 200: ScanResponse },
  }),
  list: route('GET', '/v1/scans', {
    scope: 'scans:read',
    forDoors: true,
    summary: 'List the ledger of scans',
    description:
      'Scans with the newest scannedAt come first. The result of an item is accepted, denied, or reversal. ' +
      'result=denied matches all attempts that were not accepted. result=duplicate, unknown, and ambiguous match ' +
      'only attempts that were denied for this cause.',
    query: ScanListQuery,
    responses: { 200: pageOf(ScanItem) },
  }),
  stats: route('GET', '/v1/scans/stats', {
    scope: 'scans:read',
    forDoors: true,
    summary: 'Count scans and redeemed passes',
    description:
      `groupBy=project returns the figures of each project, and groupBy=gate the figures of at most ${MAX_GATES} ` +
      'gates. With `by`, the response has the attempts of each hour, day, week (from Monday), or month in the zone ' +
      '(default UTC), from `from` (inclusive) to `to` (exclusive, default now). The response has at most ' +
      `${MAX_BUCKETS} items, including items without attempts. With \`gate\`, only attempts at the given gates ` +
      'count.',
    query: ScanStatsQuery,
    responses: { 200: z.union([ScanStats, ScanStatsByProject, ScanStatsByGate, ScanStatsByTime]) },
  }),
  get: route('GET', '/v1/scans/{id}', {
    scope: 'scans:read',
    forDoors: true,
    summary: 'Read a scan',
    description: 'The response has the same bytes as the data of the event pass.scanned.',
    responses: { 200: ScanItem },
    errors: ['NOT_FOUND'],
  }),
  reverse: route('POST', '/v1/scans/{id}/reverse', {
    scope: 'scans:write',
    forDoors: true,
    summary: 'Reverse an accepted scan',
    description:
      'A scan can be reversed once. The scan no longer counts as a use of the pass. If the scan voided the pass, ' +
      'the pass stays void. The ledger keeps the scan, and gets the reversal as a separate item.',
    headers: DoorClock,
    body: ScanReversal.default({}),
    responses: { 200: ScanResponse },
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
  replay: route('POST', '/v1/scans/replay', {
    scope: 'scans:read',
    summary: 'Replay recorded scans against another policy',
    description:
      'Evaluates the attempts between `from` and `to`, at most 1,000,000, as if all passes of the project (or of one ' +
      'template) had this policy. Nothing is recorded. Scans that were accepted before `from` count as uses. Results ' +
      'that do not depend on a policy do not change, such as the result for an unknown code, a void pass, or an ' +
      'expired pass. A workspace can run one replay at a time.',
    body: PolicyReplay,
    responses: { 200: PolicyReplayResult },
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
  explain: route('GET', '/v1/passes/{id}/redemption', {
    scope: 'scans:read',
    forDoors: true,
    summary: 'Explain whether a pass would be accepted at a given time',
    query: z.strictObject({
      at: param(Timestamp, 'The time of the scan. Default: now.', '2027-05-20T18:00:00Z'),
      validityDate: param(CalendarDate, 'The day to evaluate instead of the time.', '2027-05-20'),
      scanContextKey: param(text(1, 128), 'The scanContextKey of the scan.', '2027-05-20'),
    }),
    responses: { 200: RedemptionExplanation },
    errors: ['PASS_NOT_FOUND'],
  }),
}
