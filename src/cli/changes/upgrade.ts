import { type Client, type ClientOptions, paginate } from '../../client/client.ts'
import type { Pass, passes as routes } from '../../core/contract/passes.ts'
import type { PassStatus } from '../../core/contract/schemas/common.ts'
import { REQUESTS_PER_SECOND, secondsAtPace } from '../../core/contract/schemas/platform.ts'
import type { RouteCall } from '../../core/route.ts'
import { projectQuery } from '../arguments/list-flags.ts'
import { openOutput } from '../bulk/output-file.ts'
import { type CheckedRow, type FailedRow, failuresHeader, isFailure } from '../bulk/row-action.ts'
import { runRows } from '../bulk/run.ts'
import { CliError, UsageError } from '../command/cli-error.ts'
import { retryNotes } from '../command/client-command.ts'
import { count, counted, details, duration, printable } from '../command/output.ts'
import { startProgress } from '../command/progress.ts'
import { changeConcurrently } from './change-passes.ts'

export interface UpgradeScope {
  templateId: string | undefined
  projectId: string | undefined
  to: number | 'latest'
  statuses: readonly PassStatus[]
}

/**
 * The passes to upgrade, as a list query. If it covers several templates, each pass moves to the newest version of the
 * template that it has.
 */
interface UpgradePlan {
  query: NonNullable<RouteCall<typeof routes.list>['query']>
  /** `undefined` if each pass moves to the newest version of its template. */
  version: number | undefined
  /** The number of passes that the query finds. Across several templates, some can already be on the newest version. */
  total: number
  google: number
}

interface Upgrade {
  passId: string
  version: number
}

/** Counts the passes of an upgrade. @throws UsageError; CliError if the published version does not exist */
export async function planUpgrade(client: Client, scope: UpgradeScope): Promise<UpgradePlan> {
  const { templateId, projectId, statuses } = scope
  const version = await versionOf(client, scope)
  const query: UpgradePlan['query'] = {
    ...(templateId !== undefined && { templateId }),
    ...projectQuery(projectId === undefined ? undefined : [projectId]),
    status: [...statuses],
    ...(version !== undefined && { templateVersion: `lte:${version - 1}` }),
    // Sort by a field that never changes, so that upgraded passes do not shift the pages.
    sortBy: 'createdAt',
    sortDir: 'asc',
  }
  const { total } = await client.passes.list({ query: { ...query, limit: 1 } })
  const held = { ...query, installed: true, platform: ['google' as const] }
  const { total: google } = await client.passes.list({ query: { ...held, limit: 1 } })
  return { query, version, total, google }
}

async function versionOf(client: Client, { templateId, projectId, to }: UpgradeScope): Promise<number | undefined> {
  if (templateId === undefined) {
    if (projectId === undefined) throw new UsageError('No passes are selected: give --template, --project, or both')
    if (to !== 'latest') throw new UsageError('A version number requires one template: give --template with --to')
    return undefined
  }
  const versions = await client.templateVersions.list({ query: { templateId } })
  const published = versions.filter(({ stage }) => stage === 'published').map(({ version }) => version)
  const version = to === 'latest' ? Math.max(...published) : to
  if (published.includes(version)) return version
  throw new CliError(`Template ${templateId} has no published version${to === 'latest' ? '' : ` ${to}`}`, {
    code: 'NOT_FOUND',
    hint: `to list the versions, run passes template versions ${templateId}; to publish a draft, run passes template publish.`,
  })
}

/**
 * Yields the passes of a plan as rows, without those already on the version. `bytes` counts the passes read. The only
 * cell is the external id, so that `passes update` accepts the failures file.
 */
async function* upgradeRows(client: Client, plan: UpgradePlan): AsyncGenerator<CheckedRow<Upgrade>> {
  let seen = 0
  let line = 1
  for await (const pass of paginate(client.passes.list, plan.query)) {
    seen += 1
    const version = plan.version ?? newerVersion(pass)
    if (version === undefined) continue
    line += 1
    const item = { passId: pass.id, version }
    yield { cells: [pass.externalPassId], line, bytes: seen, problem: undefined, item, size: 0 }
  }
}

function newerVersion({ templateVersion, latestTemplateVersion }: Pass): number | undefined {
  if (templateVersion === null || latestTemplateVersion === null) return undefined
  return latestTemplateVersion > templateVersion ? latestTemplateVersion : undefined
}

export interface UpgradeOptions {
  plan: UpgradePlan
  dryRun: boolean
  failures: string | undefined
  rawCells: boolean
  concurrency: number
  stop: AbortSignal
  /** Creates a client that retries through a restart of the server. */
  sender: (onRetry: NonNullable<ClientOptions['onRetry']>) => Client
}

/**
 * The maximum number of distinct failure reasons. Others are counted together, because reasons with values differ for
 * each pass.
 */
const MAX_REASONS = 20

/** The columns of a failures file. `passes update` accepts it after a column is added for each missing variable. */
const columns = { header: ['externalPassId'], externalId: 0, errorColumn: 'error', notes: [], warnings: [] }

/**
 * Upgrades each pass of a plan with a separate request. Needs no journal: the query does not find upgraded passes
 * again, so that a stopped run is simply repeated.
 */
export async function upgradePasses(options: UpgradeOptions): Promise<UpgradeSummary> {
  const { plan, dryRun, stop } = options
  const dialect = { delimiter: ',', newline: '\n', bom: false, rawCells: options.rawCells } as const
  await using failures =
    options.failures === undefined
      ? undefined
      : await openOutput(options.failures, { keep: 0, header: failuresHeader(columns), dialect })
  using progress = await startProgress({ total: plan.total, unit: 'passes' })
  const client = options.sender(retryNotes(progress.note))
  const change = changeConcurrently<Upgrade, 'upgraded'>({
    concurrency: options.concurrency,
    async change({ passId, version }, { client: requester, signal }) {
      const call = { params: { id: passId }, query: { dryRun, bulk: true }, body: { templateVersion: version } }
      await requester.passes.update(call, { signal, idempotent: true })
      return { outcome: 'upgraded' }
    },
  })
  const reasons = countReasons()
  const startedAt = Date.now()
  const end = await runRows({
    rows: upgradeRows(client, plan),
    columns,
    resultColumns: [],
    send: (items) => change(client, items),
    batchesInFlight: 2,
    journal: undefined,
    out: undefined,
    failures,
    stop,
    onProgress: ({ bytes, rows, failing }) => progress.update({ done: bytes, rows, failed: failing }),
    onRows: (rows) => reasons.add(rows.filter(isFailure)),
  })
  return {
    dryRun,
    complete: !stop.aborted,
    version: plan.version ?? null,
    passes: end.rows,
    upgraded: end.rows - end.failing,
    failed: end.failing,
    seconds: (Date.now() - startedAt) / 1000,
    failures: options.failures ?? null,
    reasons: reasons.list(),
  }
}

function countReasons() {
  const counts = new Map<string, UpgradeSummary['reasons'][number]>()
  return {
    add: (rows: FailedRow[]) => {
      for (const { error, externalPassId } of rows) {
        const key = counts.has(error) || counts.size < MAX_REASONS ? error : 'Other reasons'
        const known = counts.get(key) ?? { error: key, passes: 0, example: externalPassId }
        counts.set(key, { ...known, passes: known.passes + 1 })
      }
    },
    list: () => [...counts.values()].toSorted((a, b) => b.passes - a.passes),
  }
}

export interface UpgradeSummary {
  dryRun: boolean
  complete: boolean
  /** `null` if each pass moves to the newest version of its template. */
  version: number | null
  /** The number of passes that were on an older version. */
  passes: number
  /** The number of upgraded passes; in a dry run, the predicted number. */
  upgraded: number
  failed: number
  seconds: number
  failures: string | null
  /** Reasons of failures, the most frequent first. */
  reasons: { error: string; passes: number; example: string }[]
}

/** Estimates the time until Google Wallet shows the change; empty if fewer than two passes are affected. */
export function forecastUpgrade({ google }: Pick<UpgradePlan, 'google'>): string {
  if (google < 2) return ''
  const seconds = duration(secondsAtPace(google))
  return `Google: ${count(google)} objects at ${REQUESTS_PER_SECOND} a second: ${seconds}`
}

export function showUpgrade({ dryRun, version, upgraded, failed, seconds, failures }: UpgradeSummary): string {
  return details([
    ['Version', version ?? 'the newest of each template'],
    [dryRun ? 'Would move' : 'Upgraded', counted(upgraded, 'pass', 'passes')],
    [dryRun ? 'Would fail' : 'Failed', count(failed)],
    ['Time', `${duration(seconds)} (${count(Math.round((upgraded + failed) / Math.max(seconds, 0.001)))} passes/s)`],
    ['Failures', failures],
  ])
}

export function showReasons({ reasons }: UpgradeSummary): string {
  return reasons
    .map(({ error, passes, example }) => printable(`${count(passes)} × ${error} (such as ${example})`))
    .join('\n')
}
