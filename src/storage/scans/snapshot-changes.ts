import type { Knex } from 'knex'
import { idBound } from '../../core/ids.ts'
import { isPostgres, positionOf, positionsNow, whereSeen, whereUnseen } from '../db/dialect.ts'
import { type ProjectScope, withinProjects } from '../db/project-scope.ts'

/** A list that was given out, and where the order of changes stood when it was begun (decisions/0010). */
export interface StoredSnapshot {
  id: string
  projectId: string | null
  madeAt: Date
  /** Changes of passes before `from` were there for all to see; those that were seen are before `to`. */
  changed: Span
  /** The same of the events of scans. */
  scanned: Span
  /** On PostgreSQL which transactions between those ends were seen. */
  seen: string | null
}

interface Span {
  from: string | number
  to: string | number
}

/** The changes between the beginnings of two lists. */
export interface ChangesRequest {
  /** The list of before. */
  since: StoredSnapshot
  /** The one that they lead to. */
  until: StoredSnapshot
}

/** Where the reading of changes goes on: after one of them. */
export interface ChangePlace {
  source: ChangeSource
  key: string | number
  id: string
}

/** A pass that changed; one that changed in several ways may come several times. */
export interface ChangedPass {
  passId: string
  place: ChangePlace
}

/** What makes an item of the list another one, in the order in which it is read. */
export const changeSources = ['changed', 'scanned', 'ahead', 'lapsed'] as const
/** Why an item of the list has changed. */
export type ChangeSource = (typeof changeSources)[number]

interface ChangeRow {
  pass_id: string
  key: string | number
  id: string
}

interface SnapshotRow {
  id: string
  project_id: string | null
  made_at: number
  changed_from: string | number
  changed_to: string | number
  scanned_from: string | number
  scanned_to: string | number
  seen: string | null
}

/** Notes where changes stand, before anything of the list is read. */
export async function insertSnapshot(
  db: Knex,
  workspaceId: string,
  { id, projectId, madeAt }: Pick<StoredSnapshot, 'id' | 'projectId' | 'madeAt'>,
): Promise<StoredSnapshot> {
  const lastOf = (table: string, column: string) =>
    `(select max(${column}) from ${table} where workspace_id = :workspaceId and ${column} is not null)`
  const lastChange = `select max(coalesce(${lastOf('passes', 'change_position')}, 0),
    coalesce(${lastOf('templates', 'name_position')}, 0))`
  const changed = positionsNow(db, lastChange)
  const scanned = positionsNow(db, lastOf('events', 'position'))
  const positions = [changed.from, changed.to, scanned.from, scanned.to, changed.seen]
  const names = 'id, workspace_id, project_id, made_at, changed_from, changed_to, scanned_from, scanned_to, seen'
  const result = await db.raw(
    `insert into scanner_snapshots (${names}) values (:id, :workspaceId, :projectId, :madeAt, ${positions.join(', ')})
      returning *`,
    { id, workspaceId, projectId: projectId as string, madeAt: madeAt.getTime() },
  )
  const [row] = isPostgres(db) ? result.rows : result
  return toSnapshot(row)
}

/** Lists of the workspace by their ids; unknown ones are left out. */
export async function listSnapshots(db: Knex, workspaceId: string, ids: string[]): Promise<StoredSnapshot[]> {
  const rows: SnapshotRow[] = await db('scanner_snapshots').where({ workspace_id: workspaceId }).whereIn('id', ids)
  return rows.map(toSnapshot)
}

function toSnapshot(row: SnapshotRow): StoredSnapshot {
  return {
    id: row.id,
    projectId: row.project_id,
    madeAt: new Date(row.made_at),
    changed: { from: row.changed_from, to: row.changed_to },
    scanned: { from: row.scanned_from, to: row.scanned_to },
    seen: row.seen,
  }
}

/** A template that is called otherwise than in the list: each of its passes then shows another name. */
export async function findRenamedTemplate(
  db: Knex,
  workspaceId: string,
  snapshot: StoredSnapshot,
): Promise<string | undefined> {
  return (await renamedTemplates(db, workspaceId, snapshot).first('id'))?.id
}

function renamedTemplates(db: Knex, workspaceId: string, { changed, seen }: StoredSnapshot): Knex.QueryBuilder {
  const renamed = db('templates')
    .where({ workspace_id: workspaceId })
    .where('name_position', '>=', positionOf(db, changed.from))
  return whereUnseen(renamed, 'name_position', seen)
}

/**
 * Whether what was read of a list since it was begun may be given out once more: nothing in it belongs to a pass that was
 * erased meanwhile, or shows the name that a template had.
 */
export async function mayRepeat(db: Knex, workspaceId: string, list: StoredSnapshot): Promise<boolean> {
  const erased = db('passes')
    .where({ workspace_id: workspaceId })
    .whereNotNull('erased_at')
    .where('change_position', '>=', positionOf(db, list.changed.from))
  const queries = [whereUnseen(erased, 'change_position', list.seen), renamedTemplates(db, workspaceId, list)]
  const [found] = await db.select(
    queries.map((query, n) => db.raw('exists ? as ??', [query.select(db.raw('1')), `is_${n}`])),
  )
  return Object.values(found).every((isThere) => !isThere)
}

/** The next changes after a place, from the first on where it is left out; fewer than `limit` are the last. */
export async function listChangedPasses(
  db: Knex,
  workspaceId: string,
  { after, limit, ...request }: ChangesRequest & { after?: ChangePlace | undefined; limit: number },
  scope: ProjectScope,
): Promise<ChangedPass[]> {
  const found: ChangedPass[] = []
  const first = after ? changeSources.indexOf(after.source) : 0
  for (const source of changeSources.slice(first)) {
    if (found.length === limit) break
    const place = after?.source === source ? after : undefined
    const query = sources[source](db, workspaceId, { ...request, scope, place }).limit(limit - found.length)
    const rows: ChangeRow[] = await query
    found.push(...rows.map(({ pass_id: passId, key, id }) => ({ passId, place: { source, key, id } })))
  }
  return found
}

interface SourceRequest extends ChangesRequest {
  scope: ProjectScope
  place: ChangePlace | undefined
}

/** Each along an index, in an order of its own. */
const sources: Record<ChangeSource, (db: Knex, workspaceId: string, request: SourceRequest) => Knex.QueryBuilder> = {
  /** Made or changed, erased ones among them. */
  changed(db, workspaceId, request) {
    const query = ofProject(db('passes'), 'passes', workspaceId, request)
    return inSpan(db, query, 'passes', 'change_position', request, 'changed').select({
      pass_id: 'passes.id',
      key: 'passes.change_position',
      id: 'passes.id',
    })
  },

  /** Let in, or taken back: their events stand in the order of their commits. */
  scanned(db, workspaceId, request) {
    const query = ofProject(db('events').crossJoin('scans' as never), 'scans', workspaceId, request)
      .where('events.workspace_id', workspaceId)
      .where('events.type', 'pass.scanned')
      .whereRaw('scans.id = events.subject')
      .whereIn('scans.result', ['accepted', 'reversal'])
    return inSpan(db, query, 'events', 'position', request, 'scanned').select({
      pass_id: 'scans.pass_id',
      key: 'events.position',
      id: 'events.id',
    })
  },

  /** Made by a server whose clock was ahead: the list of before took them for later ones. */
  ahead(db, workspaceId, { since, place, ...request }) {
    const query = ofProject(db('passes'), 'passes', workspaceId, { since, place, ...request })
      .where('passes.id', '>=', idBound(since.madeAt.getTime() + 1))
      .where((before) => {
        before
          .whereNull('passes.change_position')
          .orWhere('passes.change_position', '<', positionOf(db, since.changed.from))
          .orWhere((seen) => whereSeen(seen, 'passes.change_position', since.seen))
      })
    if (place) query.where('passes.id', '>', place.id)
    return query.orderBy('passes.id').select({ pass_id: 'passes.id', key: 'passes.id', id: 'passes.id' })
  },

  /** Expired, whether or not somebody marked them. */
  lapsed(db, workspaceId, request) {
    const { since, until, place } = request
    const query = ofProject(db('passes'), 'passes', workspaceId, request)
      .where('passes.status', 'ISSUED')
      .where('passes.expiry_key', '>', since.madeAt.getTime())
      .where('passes.expiry_key', '<=', until.madeAt.getTime())
    if (place) query.whereRaw('(passes.expiry_key, passes.id) > (:key, :id)', { key: place.key, id: place.id })
    return query
      .orderBy([{ column: 'passes.expiry_key' }, { column: 'passes.id' }])
      .select({ pass_id: 'passes.id', key: 'passes.expiry_key', id: 'passes.id' })
  },
}

function ofProject(
  query: Knex.QueryBuilder,
  table: 'passes' | 'scans',
  workspaceId: string,
  { since: { projectId }, scope }: SourceRequest,
): Knex.QueryBuilder {
  withinProjects(query.where(`${table}.workspace_id`, workspaceId), scope, `${table}.project_id`)
  return projectId === null ? query : query.where(`${table}.project_id`, projectId)
}

function inSpan(
  db: Knex,
  query: Knex.QueryBuilder,
  table: string,
  column: string,
  { since, until, place }: SourceRequest,
  span: 'changed' | 'scanned',
): Knex.QueryBuilder {
  const position = `${table}.${column}`
  query
    .where(position, '>=', positionOf(db, place?.key ?? since[span].from))
    .where(position, '<', positionOf(db, until[span].to))
  whereUnseen(query, position, since.seen)
  if (place)
    query.whereRaw(`(${position}, ${table}.id) > (:key, :id)`, { key: positionOf(db, place.key), id: place.id })
  return query.orderBy([{ column: position }, { column: `${table}.id` }])
}
