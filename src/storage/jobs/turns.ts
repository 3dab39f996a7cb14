import type { Knex } from 'knex'
import { bindIds, isAmong } from '../db/dialect.ts'
import { runPrepared } from '../db/prepared.ts'
import { isRegularQueue, type Priority, type Queue } from './job-kinds.ts'

export interface TurnOptions {
  /** The priority of the jobs; `interactive` by default. The quarantine queue has no priorities. */
  priority?: Priority | undefined
  /** The workspace that had the last turn. The search starts after this workspace and wraps around once. */
  after?: string | undefined
  /** The workspaces to skip: they use their share of the slots, or other workers claimed their jobs first. */
  except?: string[]
}

export interface NextTurn {
  /** The next workspace, or `undefined` if no workspace has a job that can run. */
  workspaceId: string | undefined
  nextRunAt: Date | undefined
}

/** The maximum number of due jobs to list. If the list is full, the search steps from workspace to workspace. */
const MAX_LISTED = 100

// Use scalar subqueries for conditions on other rows. Planners turn `exists` into joins, which read every due job.

/**
 * Returns the condition that a job waits in a queue, due or not, with the bindings `queue` and `priority`. Other values
 * are literals, because SQLite uses a partial index only if the statement contains the condition of the index.
 */
export function waitsIn(queue: Queue): string {
  const condition = isRegularQueue(queue) ? 'queue = :queue and priority = :priority and lapses = 0' : 'lapses > 0'
  return `claim_token is null and failed_at is null and ${condition}`
}

const isRunning = `select 1 from jobs running where running.subject = jobs.subject and running.kind = jobs.kind
  and running.claim_token is not null limit 1`

/**
 * The condition that a waiting job can run at the time `at`: it is due, and no job with the same kind and subject is
 * running, because a newer job must not overtake an older one. If two servers claim jobs with the same kind and subject
 * concurrently, the index jobs_running rejects one claim.
 */
export const mayRun = `run_at <= :at and (${isRunning}) is null`

/** Returns the condition that the workspace of a row is active. Jobs of suspended and expired workspaces wait. */
const isActive = (table: string) => `(select 1 from workspaces where id = ${table}.workspace_id
  and (suspended_at is not null or expires_at <= :at)) is null`

export async function nextTurn(db: Knex, queue: Queue, at: Date, options: TurnOptions): Promise<NextTurn> {
  const rows = await listDue(db, queue, at, options)
  const due = rows.filter((row) => row.run_at <= at.getTime())
  const later = rows.find((row) => row.run_at > at.getTime())
  const workspaceId = due.length < MAX_LISTED ? nextOf(due, options) : await findTurn(db, queue, at, options)
  return { workspaceId, nextRunAt: later && new Date(later.run_at) }
}

interface DueRow {
  workspace_id: string
  run_at: number
  may_run: boolean | 0 | 1
}

/** Lists up to MAX_LISTED due jobs, whether they can run or not, and the next scheduled job. */
function listDue(db: Knex, queue: Queue, at: Date, { priority = 'interactive' }: TurnOptions): Promise<DueRow[]> {
  // The index of a regular queue also contains quarantined jobs (with `lapses` above 0), so `isAble` excludes them.
  const waits = isRegularQueue(queue)
    ? 'queue = :queue and priority = :priority and claim_token is null and failed_at is null and created_at > 0'
    : waitsIn(queue)
  const isAble = `${isRegularQueue(queue) ? 'lapses = 0 and' : ''} (${isRunning}) is null and ${isActive('jobs')}`
  const select = (what: string, comparison: string, limit: number) => `select * from (
    select workspace_id, run_at, ${what} as may_run from jobs where ${waits} and run_at ${comparison} :at
    order by run_at limit ${limit}) as jobs`
  const text = `${select(isAble, '<=', MAX_LISTED)} union all ${select('false', '>', 1)}`
  return runPrepared<DueRow>(
    db,
    `look-${isRegularQueue(queue) ? 'queue' : queue}`,
    { queue, priority, at: at.getTime() },
    () => text,
  )
}

function nextOf(due: DueRow[], { after = '', except = [] }: TurnOptions): string | undefined {
  const able = due.filter((row) => row.may_run && !except.includes(row.workspace_id))
  const ids = able.map((row) => row.workspace_id).sort()
  return ids.find((id) => id > after) ?? ids[0]
}

/**
 * Finds the next workspace, by ID, with a job that can run. Steps from workspace to workspace along the index, so that
 * the cost depends on the number of waiting workspaces, not jobs. With 200,000 waiting jobs of one workspace, a search
 * takes 4 ms on SQLite and 22 ms on PostgreSQL. With a plain query, a planner without statistics used the index on
 * times, and read all 200,000 jobs (decisions/0003).
 */
async function findTurn(
  db: Knex,
  queue: Queue,
  at: Date,
  { priority = 'interactive', after, except = [] }: TurnOptions,
): Promise<string | undefined> {
  const next = (condition: string) =>
    `select workspace_id from jobs where ${waitsIn(queue)} ${condition} order by workspace_id limit 1`
  const turn = (first: string) =>
    `with recursive turns(workspace_id) as (
        select (${first}) union all
        select (${next('and workspace_id > turns.workspace_id')}) from turns where turns.workspace_id is not null
      ) select workspace_id from turns where workspace_id is not null
        and not ${isAmong(db, 'workspace_id', 'except')}
        and ${isActive('turns')}
        and (select 1 from jobs where ${waitsIn(queue)} and workspace_id = turns.workspace_id and ${mayRun}
          order by run_at limit 1) = 1
      limit 1`
  const [row] = await runPrepared<{ workspace_id: string | null }>(
    db,
    `turn-${isRegularQueue(queue) ? 'queue' : queue}`,
    { queue, priority, at: at.getTime(), after: after ?? null, except: bindIds(db, except) },
    // Wrap around to the first workspace if no later one has a job to run.
    () => `select coalesce((${turn(next('and workspace_id > :after'))}), (${turn(next(''))})) as workspace_id`,
  )
  return row?.workspace_id ?? undefined
}
