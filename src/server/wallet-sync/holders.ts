import { platforms } from '../../core/contract/schemas/platform.ts'
import { idsOf } from '../../core/ids.ts'
import { hourOf } from '../../storage/operations/figures-repository.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Repositories } from '../../storage/store.ts'

interface Cause {
  at: Date
  correlationId: string | null
}

interface HoldingCause extends Cause {
  /** Returns the source under which to count an install. By default, an install has no source. */
  countedSource?: (projectId: string, source: string | null, at: Date) => string
}

/**
 * For each pass and platform, emits `pass.installed` if a first wallet now holds the pass, and `pass.removed` if no
 * wallet holds it any longer. Returns whether it emitted an event. Call it last in the transaction that changes
 * registrations or objects (decisions/0018).
 */
export async function emitHoldings(
  tx: Repositories,
  workspaceId: string,
  passIds: string[],
  { at, correlationId, countedSource = () => '' }: HoldingCause,
): Promise<boolean> {
  const changes = await tx.heldPasses.settle(workspaceId, passIds)
  if (changes.length === 0) return false
  const changed = [...new Set(changes.map(({ passId }) => passId))]
  const passes = new Map((await tx.passes.listByIds(workspaceId, changed)).map((pass) => [pass.id, pass]))
  const events = changes.map(({ passId: id, platform, devices }) => {
    const { externalPassId, projectId } = passes.get(id)!
    const type = devices > 0 ? ('pass.installed' as const) : ('pass.removed' as const)
    return { type, subject: id, data: { id, externalPassId, projectId, platform, devices }, correlationId }
  })
  await tx.events.insert(workspaceId, events, at)
  const installed = events.flatMap(({ type, subject }) => (type === 'pass.installed' ? [passes.get(subject)!] : []))
  await countJoined(tx, workspaceId, installed, { at, countedSource })
  return true
}

/** Counts the passes that were created by a join page and are in a wallet for the first time. */
async function countJoined(
  tx: Repositories,
  workspaceId: string,
  passes: StoredPass[],
  { at, countedSource }: Required<Pick<HoldingCause, 'at' | 'countedSource'>>,
): Promise<void> {
  const first = [...new Set(passes)].filter(({ join }) => join !== null && join.installedAt === null)
  if (first.length === 0) return
  await tx.passes.setJoinInstalled(workspaceId, idsOf(first), at)
  for (const { projectId, join } of first) {
    if (projectId === null) continue
    const figure = `joined/installed/${countedSource(projectId, join!.source, at)}`
    await tx.figures.insert(workspaceId, [{ projectId, hour: hourOf(at), figure, n: 1 }])
  }
}

/** Emits `pass.removed` for passes that no Apple wallet holds any longer, after their registrations were deleted. */
export async function emitRemovals(
  tx: Repositories,
  dropped: { workspaceId: string; passId: string }[],
  at: Date,
): Promise<void> {
  // Lock workspaces in the same order in each transaction, to prevent deadlocks.
  for (const workspaceId of [...new Set(dropped.map((one) => one.workspaceId))].sort()) {
    const passIds = dropped.filter((one) => one.workspaceId === workspaceId).map(({ passId }) => passId)
    await emitHoldings(tx, workspaceId, passIds, { at, correlationId: null })
  }
}

/** The time and cause of wallet updates. Bulk updates have a lower priority. */
interface UpdateCause {
  at: Date
  correlationId: string | null | ((passId: string) => string | null)
  isBulk?: boolean | undefined
  /** The earliest time of the updates. Default: `at`. */
  runAt?: Date
}

/**
 * Queues updates of these passes at the platforms that have them: one job per pass and platform, regardless of the
 * number of changes. Set `isBulk` for an update of many passes that no person waits for. Call it in the transaction
 * that locks and changes the passes.
 */
export async function queueWalletUpdates(
  tx: Repositories,
  workspaceId: string,
  passIds: string[],
  { at, correlationId, isBulk = false, runAt = at }: UpdateCause,
): Promise<void> {
  const holders = await tx.heldPasses.findHolders(workspaceId, passIds)
  for (const platform of platforms) {
    const jobs = holders[platform].map((subject) => ({
      workspaceId,
      kind: `update-${platform}` as const,
      subject,
      correlationId: typeof correlationId === 'function' ? correlationId(subject) : correlationId,
      isBulk,
      runAt,
    }))
    await tx.jobs.insertOnce(jobs, at)
  }
}

/** Queues pushes to the phones that hold these passes, without a change of the passes. */
export function queuePushes(
  tx: Repositories,
  workspaceId: string,
  passIds: string[],
  { at, correlationId }: Cause,
): Promise<void> {
  const job = { workspaceId, kind: 'update-apple' as const, correlationId, isBulk: true }
  const jobs = passIds.map((subject) => ({ ...job, subject }))
  return tx.jobs.insertOnce(jobs, at)
}
