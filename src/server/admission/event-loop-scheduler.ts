import { performance as eventLoop } from 'node:perf_hooks'
import { ACTIVE_MS, tooMany } from '../../storage/db/fair-gate.ts'

/**
 * The event-loop scheduler, which shares time among workspaces, so that neither thousands of new passes nor expensive
 * lists delay a scan. While the event loop has spare time, no work waits. When the event loop is busy, a workspace
 * yields to any workspace whose work cost less lately. Large requests and jobs also yield to small requests of their
 * workspace. A workspace that yields has at most SMALL_IN_FLIGHT small requests, one large request or list, and one
 * batch of jobs in flight. Its next large request, list, or batch then waits for as long as the previous one took. Do
 * not use the scheduler for work that waits for the network (decisions/0003).
 */
export type EventLoopScheduler = ReturnType<typeof createEventLoopScheduler>

/** Reports the end of the work. Call it once, even if the work failed. */
export type Leave = () => void

export interface EventLoopSchedulerOptions {
  /** Returns the fraction of the time since the last call in which the event loop was busy, from 0 to 1. */
  measure?: (() => number) | undefined
}

/**
 * The thresholds for yielding. If the event loop is busy for more than `fraction` of the time, workspaces yield to each
 * other, until `ms` after the last such measurement.
 */
const BUSY = { fraction: 0.6, ms: 3_000 }

/**
 * The minimum and maximum pause after large work of a workspace. Without the maximum, the pause would take minutes if
 * the database or the process was suspended during the work. The minimum is also the interval of measurements, and the
 * time for which large requests and jobs yield after a small request.
 */
const REST_MS = { least: 100, most: 5_000 }

/** The factor by which the recorded use of a workspace decays at each measurement: by half in two seconds. */
const DECAY = 0.965

/** The maximum number of small requests that a workspace has in flight while it yields. */
const SMALL_IN_FLIGHT = 8

/** The costs of a byte and of a job. A request without a body costs 1. */
const COST = { byte: 1 / 2_048, job: 1 / 4 }

/**
 * The body size that is assumed for a list. It is high, because a list can read many rows. A body above half of this
 * size is large. The bodies of scans and other interactive requests are smaller.
 */
export const LIST_BYTES = 8_192

export const isLarge = (bytes: number) => bytes > LIST_BYTES / 2

/** The time after which a waiting request is rejected, so that its client retries later. */
const TIMEOUT_MS = 10_000

/**
 * The kinds of work. Unlike other large requests, a list does not yield to small requests of its workspace, because
 * door staff can be waiting for the list.
 */
type Kind = 'small' | 'list' | 'large' | 'jobs'

/**
 * The running and waiting work of a workspace under one limit: its small requests, its large requests and lists, or its
 * jobs.
 */
interface Line {
  inWork: number
  restsUntil: number
  waiting: Set<{ kind: Kind; start(): void }>
}

interface Workspace {
  seenAt: number
  /** The time of the last small request. */
  smallAt: number
  /** The recent cost of all work, which decays over time. A request without a body costs 1. */
  use: number
  lines: Record<'small' | 'large' | 'jobs', Line>
}

export function createEventLoopScheduler({ measure = utilization() }: EventLoopSchedulerOptions = {}) {
  const recent = new Map<string, Workspace>()
  /** The workspace with the least use, among the workspaces with recent work. */
  let lightest: Workspace | undefined
  let busyUntil = Number.NEGATIVE_INFINITY

  function workspaceOf(id: string): Workspace {
    const lines = { small: newLine(), large: newLine(), jobs: newLine() }
    const workspace = recent.get(id) ?? { seenAt: 0, smallAt: Number.NEGATIVE_INFINITY, use: 0, lines }
    recent.set(id, workspace)
    return workspace
  }

  function compareUse(workspace: Workspace): void {
    if (lightest === undefined || workspace.use < lightest.use) lightest = workspace
  }

  function mustYield(workspace: Workspace, kind: Kind): boolean {
    const now = performance.now()
    if (now > busyUntil) return false
    if ((kind === 'large' || kind === 'jobs') && now - workspace.smallAt <= REST_MS.least) return true
    return lightest !== undefined && lightest.use < workspace.use && now - lightest.seenAt <= ACTIVE_MS
  }

  function canStart(workspace: Workspace, kind: Kind): boolean {
    if (!mustYield(workspace, kind)) return true
    const { inWork, restsUntil } = lineOf(workspace, kind)
    return kind === 'small' ? inWork < SMALL_IN_FLIGHT : inWork === 0 && performance.now() >= restsUntil
  }

  function startWaiting(workspace: Workspace): void {
    for (const { waiting } of Object.values(workspace.lines)) {
      for (const { kind, start } of waiting) {
        if (!canStart(workspace, kind)) break
        start()
      }
    }
  }

  function enter(id: string, kind: Kind, cost: number, timeoutMs?: number): Promise<Leave> {
    const workspace = workspaceOf(id)
    const line = lineOf(workspace, kind)
    workspace.seenAt = performance.now()
    compareUse(workspace)
    if (kind === 'small') workspace.smallAt = workspace.seenAt
    if (kind === 'list' && !mustYield(workspace, kind)) {
      // Start a request for a list without queuing it. Otherwise, it would wait behind large requests, which yield to
      // small requests of the workspace.
      workspace.use += cost
      return Promise.resolve(() => undefined)
    }
    if (line.waiting.size === 0 && canStart(workspace, kind)) return Promise.resolve(start())
    return new Promise((resolve, reject) => {
      const waiting = {
        kind,
        start() {
          clearTimeout(timer)
          line.waiting.delete(waiting)
          resolve(start())
        },
      }
      const abandon = () => {
        line.waiting.delete(waiting)
        reject(tooMany())
      }
      const timer = timeoutMs === undefined ? undefined : setTimeout(abandon, timeoutMs)
      line.waiting.add(waiting)
    })

    function start(): Leave {
      const startedAt = performance.now()
      line.inWork += 1
      workspace.use += cost
      return () => {
        const now = performance.now()
        const restMs = kind === 'small' ? 0 : Math.min(Math.max(now - startedAt, REST_MS.least), REST_MS.most)
        line.inWork -= 1
        line.restsUntil = now + restMs
        startWaiting(workspace)
        if (line.waiting.size > 0) setTimeout(startWaiting, restMs, workspace)
      }
    }
  }

  const timer = setInterval(() => {
    const now = performance.now()
    if (measure() > BUSY.fraction) busyUntil = now + BUSY.ms
    lightest = undefined
    for (const workspace of recent.values()) {
      workspace.use *= DECAY
      if (now - workspace.seenAt <= ACTIVE_MS) compareUse(workspace)
    }
    for (const [id, workspace] of recent) {
      startWaiting(workspace)
      const isIdle = Object.values(workspace.lines).every(({ inWork, waiting }) => inWork + waiting.size === 0)
      if (isIdle && workspace.use < 1 && now - workspace.seenAt > ACTIVE_MS) recent.delete(id)
    }
  }, REST_MS.least).unref()

  return {
    /**
     * Waits until a request can start. Call the returned function when the request has ended.
     * @param bytes the size of the body, which approximates the cost of the request. For a list, pass LIST_BYTES
     * @throws ApiError SERVICE_UNAVAILABLE on timeout
     */
    enterRequest(workspaceId: string, bytes: number): Promise<Leave> {
      const kind = bytes === LIST_BYTES ? 'list' : isLarge(bytes) ? 'large' : 'small'
      return enter(workspaceId, kind, 1 + bytes * COST.byte, TIMEOUT_MS)
    },
    /** Waits until a batch of `count` jobs, or a part of other long work, can start. */
    enterJobs: (workspaceId: string, count: number) => enter(workspaceId, 'jobs', 1 + count * COST.job),
    close: () => clearInterval(timer),
  }
}

function lineOf({ lines }: Workspace, kind: Kind): Line {
  return lines[kind === 'list' ? 'large' : kind]
}

const newLine = (): Line => ({ inWork: 0, restsUntil: 0, waiting: new Set() })

function utilization(): () => number {
  let last = eventLoop.eventLoopUtilization()
  return () => {
    const now = eventLoop.eventLoopUtilization()
    const { utilization } = eventLoop.eventLoopUtilization(now, last)
    last = now
    return utilization
  }
}
