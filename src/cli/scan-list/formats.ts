import { Flags, type Interfaces } from '@oclif/core'
import { type Client, paginate } from '../../client/client.ts'
import { ApiError } from '../../client/client-errors.ts'
import type { scans } from '../../core/contract/scans/scans.ts'
import type { Page } from '../../core/contract/schemas/common.ts'
import { LedgerReason, type ScanItem, ScanResult } from '../../core/contract/schemas/scan-shapes.ts'
import { Uuid } from '../../core/ids.ts'
import type { RouteCall } from '../../core/route.ts'
import { filterFlag, jsonLines, PAST, type PageFormat, pastFlag, repeatable } from '../arguments/list-flags.ts'
import { named } from '../arguments/named.ts'
import { getPassId } from '../arguments/pass-argument.ts'
import { findPasses } from '../changes/change-passes.ts'
import { csvColumns, csvOf } from '../list/csv.ts'
import type { ListShape } from '../list/shape.ts'

type Query = NonNullable<RouteCall<typeof scans.list>['query']>

export const ledgerFlags = {
  project: named('project', filterFlag('Only scans of passes of this project.')),
  template: named('template', filterFlag('Only scans of passes issued from this template.')),
  context: filterFlag('Only scans in this context, such as an event day.'),
  from: pastFlag(`Only scans at or after this time: ${PAST}.`),
  to: pastFlag('Only scans at or before this time.'),
}

export const scanFilterFlags = {
  ...ledgerFlags,
  pass: filterFlag('Only scans of this pass (external ID or ID).'),
  external: Flags.boolean({
    summary: 'Treat --pass as an external ID, even if it looks like an ID.',
    dependsOn: ['pass'],
  }),
  result: Flags.option({
    summary: 'Only scans with this result; denied includes duplicate, unknown, and ambiguous. Repeatable.',
    options: ScanResult.options,
    ...repeatable,
  })(),
  reason: Flags.option({
    summary: 'Only scans with this reason. Repeatable.',
    options: LedgerReason.options,
    ...repeatable,
  })(),
}

export function ledgerQuery(flags: Interfaces.InferredFlags<typeof ledgerFlags>) {
  return {
    projectId: flags.project,
    templateId: flags.template,
    scanContextKey: flags.context,
    from: flags.from,
    to: flags.to,
  }
}

/** Returns the flags as query parameters; the server validates the values. */
export function scanQuery(
  flags: Interfaces.InferredFlags<typeof scanFilterFlags>,
  passId: string[] | undefined,
): Query {
  return { ...ledgerQuery(flags), passId, result: flags.result, reason: flags.reason }
}

export async function passIdsOf(
  client: Client,
  { pass, external }: { pass?: string[] | undefined; external: boolean },
): Promise<string[] | undefined> {
  return pass && Promise.all(pass.map((id) => getPassId(client, { id, external })))
}

/** Returns the decision in one word. For a denied scan, the word is the reason. */
function decisionOf({ result, reason }: ScanItem): string {
  return result === 'denied' && reason ? reason : result
}

export const scansShape: ListShape<HeldScan> = {
  columns: [
    { name: 'id', whole: true },
    { name: 'verdict', value: decisionOf, inCsv: false },
    ['result', 'reason', 'verified'],
    { name: 'passId', kind: 'id' },
    { name: 'externalPassId', title: 'pass', none: 'none' },
    { name: 'projectId', kind: 'id', title: 'project' },
    ['scannedAt', 'recordedAt'],
    { name: 'deviceId', whole: true },
    { name: 'device', value: ({ door, deviceId }) => door ?? deviceId, inCsv: false },
    { name: 'reversesScanId', value: (scan) => scan.reversesScanId ?? null, whole: true },
    { name: 'reversalReason', value: (scan) => scan.reversalReason ?? null },
    { name: 'conflict', value: ({ metadata }) => metadata.conflict ?? null },
    { name: 'validateAsOf', value: ({ metadata }) => metadata.validateAsOf ?? null },
    { name: 'metadata', value: ({ metadata }) => JSON.stringify(metadata) },
    { name: 'label', title: 'holder' },
    { name: 'zoneId', value: (scan) => scan.zoneId ?? null, kind: 'id', title: 'zone' },
    { name: 'direction', value: (scan) => scan.direction ?? null },
    { name: 'gate', value: ({ metadata }) => metadata.gate ?? null, inCsv: false },
    {
      name: 'verification',
      inCsv: false,
      value: ({ verified, metadata }) => (metadata.conflict ? `${verified}, conflict` : verified),
      title: 'verified',
    },
  ],
  table: ['id', 'scannedAt', 'verdict', 'label', 'externalPassId'],
  wide: ['id', 'scannedAt', 'verdict', 'label', 'externalPassId', 'device', 'verification'],
}

export const scanFormats = ['csv', 'jsonl'] as const

/**
 * Returns the formatter for pages of scans.
 * @param isContinued whether the file already has rows and the header
 */
export function scansFormat(
  format: (typeof scanFormats)[number],
  { isContinued, rawCells }: { isContinued: boolean; rawCells: boolean },
): PageFormat<HeldScan> {
  return format === 'csv' ? csvOf(scansShape, { header: !isContinued, rawCells }) : jsonLines
}

/** Returns the names of the columns of a CSV file, separated by commas. */
export function scanColumns(): string {
  return csvColumns(scansShape)
    .map(({ name }) => name)
    .join()
}

/** A scan with the current names of its holder and its door; `null` if the pass or door is missing or not readable. */
export type HeldScan = ScanItem & { label: string | null; door: string | null }

/** The maximum number of cached names. The cache saves requests, because the same passes recur. */
const KEPT = 10_000

/**
 * Adds the names of holders and doors to pages of scans, with a few requests per page. Adds no holders if the token
 * cannot read passes.
 */
export async function* withHolders(
  client: Client,
  pages: AsyncIterable<Page<ScanItem>>,
  note: (message: string) => void,
): AsyncGenerator<Page<HeldScan>> {
  const names = new Map<string, string>()
  const doors = new Map<string, string | null>()
  let canRead = true
  for await (const page of pages) {
    if (names.size > KEPT) names.clear()
    const ids = page.items.flatMap(({ externalPassId }) => externalPassId ?? [])
    const unknown = ids.filter((id) => !names.has(id))
    try {
      const passes = canRead && unknown.length > 0 ? await findPasses(client, unknown) : []
      for (const [id, { label }] of passes) names.set(id, label)
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 403)) throw error
      canRead = false
      note('Holders are not named: the token cannot read passes (passes:read)')
    }
    const devices = page.items.flatMap(({ deviceId }) => (Uuid.safeParse(deviceId).data ? deviceId! : []))
    if (devices.some((id) => !doors.has(id))) {
      for (const id of devices) doors.set(id, doors.get(id) ?? null)
      for await (const { id, name } of paginate((call) => client.doors.list(call), { limit: 100 })) doors.set(id, name)
    }
    const items = page.items.map((scan) => ({
      ...scan,
      label: names.get(scan.externalPassId ?? '') ?? null,
      door: doors.get(scan.deviceId ?? '') ?? null,
    }))
    yield { ...page, items }
  }
}
