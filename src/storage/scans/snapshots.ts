import type { Knex } from 'knex'
import { idBound } from '../../core/ids.ts'
import { rowsOf } from '../db/dialect.ts'
import { positionOf, positionsNow, whereSeen, whereUnseen } from '../db/positions.ts'
import { field, findRecord, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'

const position = field.plain<string | number>()
const SNAPSHOT = mapping({
  id: field.text,
  projectId: field.optionalText,
  madeAt: field.time,
  /** A position in the sequence of pass changes. All earlier changes were visible when the snapshot began. */
  changedFrom: position,
  /** A position after `changedFrom`. No change from this position on was visible when the snapshot began. */
  changedTo: position,
  /** Like `changedFrom`, for scan events. */
  scannedFrom: position,
  scannedTo: position,
  /**
   * On PostgreSQL, the pg_snapshot that shows which transactions between `changedFrom` and `changedTo` were visible;
   * null on SQLite.
   */
  seen: field.optionalText,
})

/** A snapshot that the API returned, and its positions in the sequences of changes and scans (decisions/0010). */
export interface StoredSnapshot extends RecordOf<typeof SNAPSHOT> {}

/** A request for the changes between the beginnings of two snapshots. */
export interface ChangesRequest {
  since: StoredSnapshot
  until: StoredSnapshot
}

/** The last change of a page, after which the next page starts. */
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

/** The kinds of changes, in the order in which they are read. */
export const changeSources = ['changed', 'scanned', 'ahead', 'lapsed'] as const
export type ChangeSource = (typeof changeSources)[number]

interface ChangeRow {
  pass_id: string
  key: string | number
  id: string
}

export class Snapshots extends Repository {
  /**
   * Begins a snapshot, whose data the caller reads afterwards. No change is lost: each change is in this data or in the
   * changes since the snapshot.
   */
  async insert(
    workspaceId: string,
    { id, projectId, madeAt }: Pick<StoredSnapshot, 'id' | 'projectId' | 'madeAt'>,
  ): Promise<StoredSnapshot> {
    const lastOf = (table: string, column: string) =>
      `(select max(${column}) from ${table} where workspace_id = :workspaceId and ${column} is not null)`
    const lastChange = `select max(coalesce(${lastOf('passes', 'change_position')}, 0),
      coalesce(${lastOf('templates', 'name_position')}, 0))`
    const changed = positionsNow(this.db, lastChange)
    const scanned = positionsNow(this.db, lastOf('events', 'position'))
    const positions = [changed.from, changed.to, scanned.from, scanned.to, changed.seen]
    const names = 'id, workspace_id, project_id, made_at, changed_from, changed_to, scanned_from, scanned_to, seen'
    const result = await this.db.raw(
      `insert into scanner_snapshots (${names}) values (:id, :workspaceId, :projectId, :madeAt, ${positions.join(', ')})
        returning *`,
      { id, workspaceId, projectId: projectId as string, madeAt: madeAt.getTime() },
    )
    const [row] = rowsOf<RowOf<typeof SNAPSHOT>>(this.db, result)
    return SNAPSHOT.read(row!)
  }

  async find(workspaceId: string, id: string): Promise<StoredSnapshot | undefined> {
    return findRecord(this.db('scanner_snapshots').where({ workspace_id: workspaceId, id }), SNAPSHOT.read)
  }

  /**
   * Returns the ID of a template that was renamed since the snapshot, if any. A new name changes the entries of all
   * passes of the template, but the list of changes does not contain these passes.
   */
  async findRenamedTemplate(workspaceId: string, snapshot: StoredSnapshot): Promise<string | undefined> {
    return (await this.renamedTemplates(workspaceId, snapshot).first('id'))?.id
  }

  /**
   * Whether no pass was erased and no template was renamed since a snapshot began. If so, pages that were read since
   * then can be returned again.
   */
  async mayRepeat(workspaceId: string, list: StoredSnapshot): Promise<boolean> {
    const erased = this.db('passes')
      .where({ workspace_id: workspaceId })
      .whereNotNull('erased_at')
      .where('change_position', '>=', positionOf(this.db, list.changedFrom))
    const queries = [whereUnseen(erased, 'change_position', list.seen), this.renamedTemplates(workspaceId, list)]
    const [found] = await this.db.select(
      queries.map((query, n) => this.db.raw('exists ? as ??', [query.select(this.db.raw('1')), `is_${n}`])),
    )
    return Object.values(found).every((isThere) => !isThere)
  }

  /** Returns the changes after `after`, or the first changes. A page with fewer than `limit` changes is the last. */
  async listChanged(
    workspaceId: string,
    { after, limit, since, until }: ChangesRequest & { after?: ChangePlace | undefined; limit: number },
  ): Promise<ChangedPass[]> {
    const found: ChangedPass[] = []
    const first = after ? changeSources.indexOf(after.source) : 0
    for (const source of changeSources.slice(first)) {
      if (found.length === limit) break
      const place = after?.source === source ? after : undefined
      const ofProject = (query: Knex.QueryBuilder, table: 'passes' | 'scans') => {
        this.inScope(query.where(`${table}.workspace_id`, workspaceId), `${table}.project_id`)
        return since.projectId === null ? query : query.where(`${table}.project_id`, since.projectId)
      }
      const query = sources[source](this.db, { workspaceId, since, until, place, ofProject }).limit(
        limit - found.length,
      )
      const rows: ChangeRow[] = await query
      found.push(...rows.map(({ pass_id: passId, key, id }) => ({ passId, place: { source, key, id } })))
    }
    return found
  }

  private renamedTemplates(workspaceId: string, { changedFrom, seen }: StoredSnapshot): Knex.QueryBuilder {
    const renamed = this.db('templates')
      .where({ workspace_id: workspaceId })
      .where('name_position', '>=', positionOf(this.db, changedFrom))
    return whereUnseen(renamed, 'name_position', seen)
  }
}

interface SourceRequest extends ChangesRequest {
  workspaceId: string
  place: ChangePlace | undefined
  /** Restricts a query to the workspace and the project of the snapshot. */
  ofProject(query: Knex.QueryBuilder, table: 'passes' | 'scans'): Knex.QueryBuilder
}

/** The query of each kind of change. Each query reads an index in order. */
const sources: Record<ChangeSource, (db: Knex, request: SourceRequest) => Knex.QueryBuilder> = {
  /** Finds created and changed passes, including erased ones. */
  changed(db, request) {
    const query = request.ofProject(db('passes'), 'passes')
    return inSpan(db, query, 'passes', 'change_position', request, 'changed').select({
      pass_id: 'passes.id',
      key: 'passes.change_position',
      id: 'passes.id',
    })
  },

  /** Finds passes with accepted or reversed scans. Reads their events, which have positions in commit order. */
  scanned(db, request) {
    const query = request
      .ofProject(db('events').crossJoin('scans' as never), 'scans')
      .where('events.workspace_id', request.workspaceId)
      .where('events.type', 'pass.scanned')
      .whereRaw('scans.id = events.subject')
      .whereIn('scans.result', ['accepted', 'reversal'])
    return inSpan(db, query, 'events', 'position', request, 'scanned').select({
      pass_id: 'scans.pass_id',
      key: 'events.position',
      id: 'events.id',
    })
  },

  /**
   * Finds passes that a server with a fast clock created before the earlier snapshot. That snapshot excluded these
   * passes, because their IDs are after its time.
   */
  ahead(db, { since, place, ofProject }) {
    const query = ofProject(db('passes'), 'passes')
      .where('passes.id', '>=', idBound(since.madeAt.getTime() + 1))
      .where((before) => {
        before
          .whereNull('passes.change_position')
          .orWhere('passes.change_position', '<', positionOf(db, since.changedFrom))
          .orWhere((seen) => whereSeen(seen, 'passes.change_position', since.seen))
      })
    if (place) query.where('passes.id', '>', place.id)
    return query.orderBy('passes.id').select({ pass_id: 'passes.id', key: 'passes.id', id: 'passes.id' })
  },

  /** Finds passes that expired, whether or not they are marked as EXPIRED. */
  lapsed(db, { since, until, place, ofProject }) {
    const query = ofProject(db('passes'), 'passes')
      .where('passes.status', 'ISSUED')
      .where('passes.expiry_key', '>', since.madeAt.getTime())
      .where('passes.expiry_key', '<=', until.madeAt.getTime())
    if (place) query.whereRaw('(passes.expiry_key, passes.id) > (:key, :id)', { key: place.key, id: place.id })
    return query
      .orderBy(['passes.expiry_key', 'passes.id'])
      .select({ pass_id: 'passes.id', key: 'passes.expiry_key', id: 'passes.id' })
  },
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
    .where(position, '>=', positionOf(db, place?.key ?? since[`${span}From`]))
    .where(position, '<', positionOf(db, until[`${span}To`]))
  whereUnseen(query, position, since.seen)
  if (place)
    query.whereRaw(`(${position}, ${table}.id) > (:key, :id)`, { key: positionOf(db, place.key), id: place.id })
  return query.orderBy([position, `${table}.id`])
}
