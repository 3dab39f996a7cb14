import type { Knex } from 'knex'

/** Where a look around the workspaces begins, and which of them it passes over. */
export interface TurnOptions {
  /** The workspace that had the last turn: the look begins behind it and goes round once. */
  after?: string | undefined
  /** Workspaces that have enough for now. */
  except?: string[]
}

/** Makes queries of jobs that wait in one queue, whatever their time. */
export type WaitingJobs = () => Knex.QueryBuilder

/**
 * The next workspace that has something due, in the order of their ids. Steps from workspace to workspace along the index,
 * so that a look costs what the workspaces with waiting jobs cost that it passes, however many jobs those have. Jobs of
 * suspended and of expired workspaces wait.
 * @param due of those that wait, the ones that may run now
 */
export async function findTurn(
  db: Knex,
  waiting: WaitingJobs,
  due: WaitingJobs,
  at: Date,
  { after, except = [] }: TurnOptions,
): Promise<string | undefined> {
  const look = async (from?: string): Promise<string | undefined> => {
    const row: { workspace_id: string } | undefined = await db
      .withRecursive('turns', ['workspace_id'], ringFrom(db, waiting, from))
      .from('turns')
      .whereNotNull('turns.workspace_id')
      .whereNotIn('turns.workspace_id', except)
      // Values of subqueries, since planners make joins of `exists`, and those read every job that is due.
      .whereNull(isClosed(db, at) as never)
      .whereNotNull(due().whereRaw('jobs.workspace_id = turns.workspace_id').limit(1).select(db.raw('1')) as never)
      .first('turns.workspace_id')
    return row?.workspace_id
  }
  if (after === undefined) return look()
  return (await look(after)) ?? look()
}

/** Workspaces with waiting jobs, one at a time, each found behind the one before; null behind the last. */
function ringFrom(db: Knex, waiting: WaitingJobs, from: string | undefined) {
  const next = () => waiting().orderBy('jobs.workspace_id').limit(1).select('jobs.workspace_id')
  const first = from === undefined ? next() : next().where('jobs.workspace_id', '>', from)
  const following = next().whereRaw('jobs.workspace_id > turns.workspace_id')
  return db
    .select(db.raw('?', [first]))
    .unionAll(db.from('turns').whereNotNull('turns.workspace_id').select(db.raw('?', [following])))
}

function isClosed(db: Knex, at: Date): Knex.QueryBuilder {
  return db('workspaces')
    .whereRaw('workspaces.id = turns.workspace_id')
    .where((closed) => closed.whereNotNull('suspended_at').orWhere('expires_at', '<=', at.getTime()))
    .select(db.raw('1'))
}
