import type { scans as contract, PolicyReplayResult } from '../../../core/contract/scans/scans.ts'
import type { LedgerReason } from '../../../core/contract/schemas/scan-shapes.ts'
import { ApiError, validationError } from '../../../core/errors.ts'
import { groupBy } from '../../../core/group-by.ts'
import type { RouteInput } from '../../../core/route.ts'
import { type ReplayedScan, replayPass } from '../../../core/rules/redemption/replay.ts'
import { mapInSlices } from '../../../core/slices.ts'
import type { ReplayEntry, ReplayedPass, ReplayFilter } from '../../../storage/scans/replays.ts'
import { createInFlight } from '../../admission/in-flight.ts'
import type { RequestContext } from '../../context.ts'
import { requireProject } from '../token-projects.ts'

const MAX_SCANS = 1_000_000

/** The maximum number of scans of a pass. All of them are in memory at once. An ordinary ticket has far fewer scans. */
const MAX_SCANS_OF_PASS = 100_000

/**
 * The numbers of passes and of scans per read. Larger reads would block the event loop: a row can have a policy of 30
 * KB, and the driver converts all rows in one step.
 */
const PASSES = 200
const ROWS = 200

const LIMIT_MS = 300_000

const MAX_GATES = { counted: 10_000, shown: 100 }

const inFlight = createInFlight({ limit: 'replays', noun: 'replays' })

type ReplayBody = RouteInput<(typeof contract)['replay']>['body']

/**
 * Replays the ledger of a project against another policy. Reads the passes in pages, so that the scans of only a few
 * passes are in memory, and other requests run in between.
 * @throws ApiError NOT_FOUND, VALIDATION_ERROR, CONFLICT, TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE
 */
export async function replayLedger(body: ReplayBody, context: RequestContext): Promise<PolicyReplayResult> {
  const leave = inFlight.enter(context.workspaceId, 1)
  try {
    return await replay(body, context)
  } finally {
    leave()
  }
}

async function replay(body: ReplayBody, context: RequestContext): Promise<PolicyReplayResult> {
  const { store, workspaceId, services } = context
  const { projectId, templateId, policy } = body
  await requireKnown(body, context)
  const filter: ReplayFilter = { projectId, templateId, from: new Date(body.from), to: new Date(body.to) }
  const scans = await store.replays.countAttempts(workspaceId, filter, MAX_SCANS + 1)
  if (scans > MAX_SCANS) {
    const message = `The time range has more than ${MAX_SCANS.toLocaleString('en')} scans: use a later "from" or an earlier "to"`
    throw validationError([{ path: ['to'], message }])
  }
  const counters = createCounters()
  const endsAt = performance.now() + LIMIT_MS
  for await (const some of ledgers(filter, context)) {
    if (services.stopping.aborted || performance.now() > endsAt) throw tooLong()
    // Schedule each page separately. Otherwise, a replay of a million scans would delay other workspaces for minutes.
    const leave = await services.eventLoop.enterJobs(workspaceId, some.length)
    await mapInSlices(evaluatedAgain(some, policy, filter), (one) => counters.add(one)).finally(leave)
  }
  return { scans, ...counters.result() }
}

function* evaluatedAgain(some: PassLedger[], policy: ReplayBody['policy'], { from, to }: ReplayFilter) {
  for (const { pass, entries } of some) {
    if (!entries.some(({ scannedAt }) => scannedAt >= from && scannedAt <= to)) continue
    yield* replayPass(entries.sort(byRecording), { policy, from, to, expiresAt: pass.expiresAt })
  }
}

async function requireKnown({ projectId, templateId }: ReplayBody, { store, workspaceId }: RequestContext) {
  await requireProject(store, workspaceId, projectId)
  if (templateId !== undefined && !(await store.templates.find(workspaceId, templateId))) {
    throw new ApiError('NOT_FOUND', { message: 'Template not found.', details: { templateId } })
  }
}

function tooLong(): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', {
    message: 'The replay took too long, or the server is stopping. Choose a shorter time range, or set templateId.',
    headers: { 'retry-after': '10' },
  })
}

interface PassLedger {
  pass: ReplayedPass
  /** The entries of the pass, in no particular order. */
  entries: ReplayEntry[]
}

async function* ledgers(filter: ReplayFilter, context: RequestContext): AsyncGenerator<PassLedger[]> {
  const { store, workspaceId } = context
  for (let after: string | undefined; ; ) {
    const passes = await store.replays.listPasses(workspaceId, filter, { after, limit: PASSES })
    for (let first = 0, size = PASSES; first < passes.length; ) {
      const some = passes.slice(first, first + size)
      const found = await entriesOf(some, context)
      if (!found) {
        size = Math.ceil(some.length / 2)
        continue
      }
      yield some.map((pass) => ({ pass, entries: found.get(pass.id) ?? [] }))
      first += some.length
    }
    if (passes.length < PASSES) return
    after = passes.at(-1)!.id
  }
}

function byRecording(a: ReplayEntry, b: ReplayEntry): number {
  return a.recordedAt.getTime() - b.recordedAt.getTime() || (a.id < b.id ? -1 : 1)
}

/** Returns the entries by pass; undefined if the entries of several passes exceed one read. */
async function entriesOf(
  passes: ReplayedPass[],
  { store, workspaceId }: RequestContext,
): Promise<Map<string, ReplayEntry[]> | undefined> {
  const ids = passes.map(({ id }) => id)
  const found = await store.replays.listEntries(workspaceId, ids, { limit: ROWS + 1 })
  if (found.length > ROWS && ids.length > 1) return undefined
  for (let isMore = found.length > ROWS; isMore; ) {
    const more = await store.replays.listEntries(workspaceId, ids, { after: found.at(-1), limit: ROWS })
    found.push(...more)
    isMore = more.length === ROWS
    if (found.length > MAX_SCANS_OF_PASS) {
      const message = `Pass ${ids[0]} has over ${MAX_SCANS_OF_PASS.toLocaleString('en')} scans, which is more than a replay evaluates. To leave out the pass, set templateId to another template.`
      throw new ApiError('CONFLICT', { message, details: { passId: ids[0], allowed: MAX_SCANS_OF_PASS } })
    }
  }
  return groupBy(found, ({ passId }) => passId)
}

type Pair = `${LedgerReason} ${LedgerReason}`

function createCounters() {
  const byReason = new Map<Pair, number>()
  const byGate = new Map<string | null, Map<Pair, number>>()
  return {
    add({ entry: { gate }, from, to }: ReplayedScan<ReplayEntry>): void {
      if (from === to) return
      const pair: Pair = `${from} ${to}`
      byReason.set(pair, (byReason.get(pair) ?? 0) + 1)
      const ofGate = byGate.get(gate) ?? new Map<Pair, number>()
      if (byGate.size < MAX_GATES.counted) byGate.set(gate, ofGate)
      ofGate.set(pair, (ofGate.get(pair) ?? 0) + 1)
    },
    result() {
      const gates = [...byGate].map(([gate, pairs]) => ({ gate, changed: sum(pairs), byReason: changesOf(pairs) }))
      const shown = gates.sort((a, b) => b.changed - a.changed).slice(0, MAX_GATES.shown)
      return { changed: sum(byReason), byReason: changesOf(byReason), byGate: shown }
    },
  }
}

function sum(pairs: Map<Pair, number>): number {
  return [...pairs.values()].reduce((total, count) => total + count, 0)
}

function changesOf(pairs: Map<Pair, number>): PolicyReplayResult['byReason'] {
  const changes = [...pairs].map(([pair, count]) => {
    const [from, to] = pair.split(' ') as [LedgerReason, LedgerReason]
    return { from, to, count }
  })
  return changes.sort((a, b) => b.count - a.count || (a.from + a.to < b.from + b.to ? -1 : 1))
}
