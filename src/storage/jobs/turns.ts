import type { Knex } from 'knex'
import { bindIds, isAmong } from '../db/dialect.ts'
import { runPrepared } from '../db/prepared.ts'
import { isRegularQueue, type Priority, type Queue } from './job-kinds.ts'

/** The jobs that a look considers, the workspace at which it begins, and the workspaces that it skips. */
export interface TurnOptions {
  /** `interactive` by default. The quarantine queue has no priorities. */
  priority?: Priority | undefined
  /** The workspace that had the last turn: the look begins after it and goes round once. */
  after?: string | undefined
  /** Workspaces that have enough for now. */
  except?: string[]
}

/** What a look at a queue finds. */
export interface Look {
  /** Whose turn it is; undefined where nobody has a job that may run. */
  workspaceId: string | undefined
  /** When the next job that is not due yet will be. */
  nextRunAt: Date | undefined
}

/** So many due jobs are looked through one by one; with more the way leads from workspace to workspace. */
const FEW = 100

// Conditions on other rows are values of subqueries: of `exists` planners make joins, which read every job that is due.

/**
 * The condition that a job waits in a queue, due or not, with the bindings `queue` and `priority`. All else is a literal:
 * SQLite uses a partial index only if the statement contains the condition of the index.
 */
export function waitsIn(queue: Queue): string {
  const condition = isRegularQueue(queue) ? 'queue = :queue and priority = :priority and lapses = 0' : 'lapses > 0'
  return `claim_token is null and failed_at is null and ${condition}`
}

/** Selects whether a job of the same kind and subject is at work. */
const isRunning = `select 1 from jobs running where running.subject = jobs.subject and running.kind = jobs.kind
  and running.claim_token is not null limit 1`

/**
 * The condition that a job which waits may run at the moment `at`: it is due, and no job of the same kind is at work on its
 * subject, since newer must not overtake older. What two servers do not see of each other the index jobs_running refuses.
 */
export const mayRun = `run_at <= :at and (${isRunning}) is null`

/** The condition that the workspace of a row is neither suspended nor expired: else its jobs wait. */
const isActive = (table: string) => `(select 1 from workspaces where id = ${table}.workspace_id
  and (suspended_at is not null or expires_at <= :at)) is null`

/** Looks whose turn it is: that of the next workspace, in the order of their ids, that has a job which may run. */
export async function lookAround(db: Knex, queue: Queue, at: Date, options: TurnOptions): Promise<Look> {
  const rows = await listDue(db, queue, at, options)
  const due = rows.filter((row) => row.run_at <= at.getTime())
  const later = rows.find((row) => row.run_at > at.getTime())
  const workspaceId = due.length < FEW ? nextOf(due, options) : await findTurn(db, queue, at, options)
  return { workspaceId, nextRunAt: later && new Date(later.run_at) }
}

interface DueRow {
  workspace_id: string
  run_at: number
  may_run: boolean | 0 | 1
}

/** Jobs that are due, may they run or not, all of them where they are few, and the next one that will be. */
function listDue(db: Knex, queue: Queue, at: Date, { priority = 'interactive' }: TurnOptions): Promise<DueRow[]> {
  // The index of due jobs contains those of a queue that lapsed, too.
  const waits = isRegularQueue(queue)
    ? 'queue = :queue and priority = :priority and claim_token is null and failed_at is null and created_at > 0'
    : waitsIn(queue)
  const isAble = `${isRegularQueue(queue) ? 'lapses = 0 and' : ''} (${isRunning}) is null and ${isActive('jobs')}`
  const select = (what: string, comparison: string, limit: number) => `select * from (
    select workspace_id, run_at, ${what} as may_run from jobs where ${waits} and run_at ${comparison} :at
    order by run_at limit ${limit}) as jobs`
  const text = `${select(isAble, '<=', FEW)} union all ${select('false', '>', 1)}`
  return runPrepared<DueRow>(
    db,
    `look-${isRegularQueue(queue) ? 'queue' : queue}`,
    { queue, priority, at: at.getTime() },
    () => text,
  )
}

/** Of the workspaces of due jobs the next that has one which may run. */
function nextOf(due: DueRow[], { after = '', except = [] }: TurnOptions): string | undefined {
  const able = due.filter((row) => row.may_run && !except.includes(row.workspace_id))
  const ids = able.map((row) => row.workspace_id).sort()
  return ids.find((id) => id > after) ?? ids[0]
}

/**
 * The next workspace that has a job which may run, in the order of their ids. Steps from workspace to workspace along the
 * index, so that a look costs what the workspaces with waiting jobs cost that it passes, however many jobs those have. Jobs
 * of suspended and of expired workspaces wait. With 200,000 jobs of one workspace waiting a look takes 4 ms on SQLite and 22 on
 * PostgreSQL; by the index of moments instead, which a planner without statistics had taken, it read all 200,000 (decisions/0003).
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
    // Those before it are looked at where none comes after it.
    () => `select coalesce((${turn(next('and workspace_id > :after'))}), (${turn(next(''))})) as workspace_id`,
  )
  return row?.workspace_id ?? undefined
}
