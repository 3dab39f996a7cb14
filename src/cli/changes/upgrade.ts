import type { Client, ClientOptions } from '../../client/client.ts'
import { openOutput } from '../bulk/output-file.ts'
import { type FailedRow, failuresHeader, isFailure } from '../bulk/results.ts'
import { runRows } from '../bulk/run.ts'
import { retryNotes } from '../command/client-command.ts'
import { startProgress } from '../command/progress.ts'
import { changeConcurrently } from './concurrent-changes.ts'
import { type Upgrade, type UpgradePlan, upgradeRows } from './upgrade-plan.ts'
import type { UpgradeSummary } from './upgrade-summary.ts'

export interface UpgradeOptions {
  plan: UpgradePlan
  dryRun: boolean
  failures: string | undefined
  rawCells: boolean
  /** Requests in flight at once. */
  concurrency: number
  stop: AbortSignal
  /** Waits out a server that restarts. */
  sender: (onRetry: NonNullable<ClientOptions['onRetry']>) => Client
}

/** Reasons beyond these are counted together: one that names values is another one for each pass. */
const MAX_REASONS = 20

/** The header of a failures file: with a column for each missing variable added, `passes update` takes it. */
const columns = { header: ['externalPassId'], externalId: 0, errorColumn: 'error', notes: [], warnings: [] }

/**
 * Moves every pass of a plan to its version, each by a request of its own. No journal is kept: a pass that was moved is
 * not found again, so a run that was stopped is simply repeated.
 */
export async function upgradePasses(options: UpgradeOptions): Promise<UpgradeSummary> {
  const { plan, dryRun, stop } = options
  const dialect = { delimiter: ',', newline: '\n', bom: false, rawCells: options.rawCells } as const
  await using failures =
    options.failures === undefined
      ? undefined
      : await openOutput(options.failures, { keep: 0, header: failuresHeader(columns), dialect })
  const start = { done: 0, rows: 0, failed: 0 }
  using progress = await startProgress({ total: plan.total, start, unit: 'passes' })
  const client = options.sender(retryNotes(progress.note))
  const change = changeConcurrently<Upgrade, 'upgraded'>({
    concurrency: options.concurrency,
    async change({ passId, version }, { client: requester, signal }) {
      const call = { params: { id: passId }, query: { dryRun }, body: { templateVersion: version } }
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
