import type { Knex } from 'knex'
import { idBound } from '../../core/ids.ts'
import { rowsOf } from '../db/dialect.ts'
import { positionOf, positionsNow, whereSeen, whereUnseen } from '../db/positions.ts'
import { type ProjectScope, withinProjects } from '../db/project-scope.ts'

/** A snapshot that was returned, and the position of changes when it began (decisions/0010). */
export interface StoredSnapshot {
  id: string
  projectId: string | null
  madeAt: Date
  /** The changes of passes. All changes before `from` were visible; visible changes are before `to`. */
  changed: Span
  /** The same for scan events. */
  scanned: Span
  /** On PostgreSQL, the transactions in between that were visible. */
  seen: string | null
}

interface Span {
  from: string | number
  to: string | number
}

/** The changes between the beginnings of two snapshots. */
export interface ChangesRequest {
  /** The earlier snapshot. */
  since: StoredSnapshot
  /** The later snapshot. */
  until: StoredSnapshot
}

/** The change after which reading continues. */
export interface ChangePlace {
  source: ChangeSource
  key: string | number
  id: string
}

/** A changed pass. A pass with several kinds of changes can appear several times. */
export interface ChangedPass {
  passId: string
  place: ChangePlace
}

/** The reasons for a changed entry, in the order of reading. */
export const changeSources = ['changed', 'scanned', 'ahead', 'lapsed'] as const
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

/** Saves the position of changes. Call it before the snapshot is read. */
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
  return toSnapshot(rowsOf<SnapshotRow>(db, result)[0]!)
}

/** Returns snapshots of the workspace by ID. Omits unknown ones. */
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

/** Returns a template that was renamed since the snapshot, which changes the name in all of its passes. */
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
 * Whether pages that were read since the beginning of a snapshot can be returned again: they contain no pass that has been erased
 * and no previous name of a template.
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

/** Returns the next changes after a place, or the first ones. A page with fewer than `limit` changes is the last. */
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

/** The query of each source, which uses an index in its order. */
const sources: Record<ChangeSource, (db: Knex, workspaceId: string, request: SourceRequest) => Knex.QueryBuilder> = {
  /** Created or changed passes, including erased ones. */
  changed(db, workspaceId, request) {
    const query = ofProject(db('passes'), 'passes', workspaceId, request)
    return inSpan(db, query, 'passes', 'change_position', request, 'changed').select({
      pass_id: 'passes.id',
      key: 'passes.change_position',
      id: 'passes.id',
    })
  },

  /** Accepted and reversed scans. Their events are in commit order. */
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

  /** Passes created by a server whose clock was ahead. The earlier snapshot excluded them as later ones. */
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

  /** Expired passes, whether or not they are marked. */
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
