import type { WhenFull } from '../../core/contract/scans/zones.ts'
import { newId } from '../../core/ids.ts'
import type { AlertLevel } from '../../core/rules/zones/capacity.ts'
import { bindIds, isAmong, rowLock } from '../db/dialect.ts'
import { byId, type ListPage, type ListRequest, listPage } from '../db/list-query.ts'
import { runPrepared } from '../db/prepared.ts'
import { field, findRecord, listRecords, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { countRows, Repository } from '../db/repository.ts'

const ZONE = mapping({
  id: field.text,
  projectId: field.text,
  name: field.text,
  capacity: field.optionalNumber,
  whenFull: field.plain<WhenFull>(),
  inside: field.number,
  alerted: field.plain<AlertLevel>(),
  /** The number of the current segment, which is the number of resets. */
  segment: field.number,
  resetAt: field.optionalTime,
  version: field.number,
  createdAt: field.time,
  updatedAt: field.time,
  deletedAt: field.optionalTime,
})

export interface StoredZone extends RecordOf<typeof ZONE> {}

type Row = RowOf<typeof ZONE>

export type ZoneFields = Pick<StoredZone, 'name' | 'capacity' | 'whenFull'>

export interface ZoneListRequest extends ListRequest {
  projectId?: string[] | undefined
}

/** A change, without a scan, of the number of people inside. */
export interface NewAdjustment {
  delta: number
  reason: string
  externalRef: string
}

export class Zones extends Repository {
  async insert(workspaceId: string, projectId: string, fields: ZoneFields, at: Date): Promise<StoredZone> {
    const empty = { inside: 0, alerted: 0, segment: 0, resetAt: null, version: 0, deletedAt: null } as const
    const zone = { id: newId(at), projectId, ...fields, ...empty, createdAt: at, updatedAt: at }
    await this.db('zones').insert({ ...ZONE.write(zone), workspace_id: workspaceId })
    return zone
  }

  async count(workspaceId: string, projectId: string): Promise<number> {
    return countRows(this.existing(workspaceId).where({ project_id: projectId }))
  }

  async find(workspaceId: string, id: string): Promise<StoredZone | undefined> {
    return findRecord(this.existing(workspaceId).where({ id }), ZONE.read)
  }

  async findForUpdate(workspaceId: string, id: string): Promise<StoredZone | undefined> {
    return findRecord(this.existing(workspaceId).where({ id }).forUpdate(), ZONE.read)
  }

  list(workspaceId: string, request: ZoneListRequest): Promise<ListPage<StoredZone>> {
    const query = this.existing(workspaceId)
    if (request.projectId) query.whereIn('zones.project_id', request.projectId)
    return listPage(this.db, query, byId('zones'), request, ZONE.read)
  }

  /** Returns the zones of a project, or of the whole workspace, in the order of their creation. */
  async listOfProject(workspaceId: string, projectId: string | null): Promise<StoredZone[]> {
    const query = this.existing(workspaceId).orderBy('id')
    return listRecords(projectId === null ? query : query.where({ project_id: projectId }), ZONE.read)
  }

  /** Returns zones by ID, including deleted ones. */
  async listByIds(workspaceId: string, ids: string[]): Promise<StoredZone[]> {
    const rows = await runPrepared<Row>(this.db, 'zones-by-id', { workspaceId, ids: bindIds(this.db, ids) }, () => {
      const columns = ZONE.columns.join(', ')
      return `select ${columns} from zones where workspace_id = :workspaceId and ${isAmong(this.db, 'id', 'ids')}`
    })
    const zones = rows.map(ZONE.read)
    return this.scope ? zones.filter(({ projectId }) => this.scope!.includes(projectId)) : zones
  }

  /**
   * Until the transaction ends, locks the zones that have one of the behaviors. The order (`deny` before `warn`, then
   * by ID) prevents deadlocks.
   */
  async lock(workspaceId: string, ids: string[], behaviors: WhenFull[]): Promise<void> {
    const values = { workspaceId, ids: bindIds(this.db, ids), behaviors: bindIds(this.db, behaviors) }
    await runPrepared(this.db, 'lock-zones', values, () => {
      const named = `${isAmong(this.db, 'id', 'ids')} and ${isAmong(this.db, 'when_full', 'behaviors', 'text')}`
      return `select id from zones where workspace_id = :workspaceId and ${named}
        order by when_full, id ${rowLock(this.db, 'for no key update')}`
    })
  }

  async update(
    workspaceId: string,
    id: string,
    fields: Partial<ZoneFields>,
    at: Date,
  ): Promise<StoredZone | undefined> {
    return this.change(workspaceId, id, { ...fields, updatedAt: at })
  }

  /**
   * Deletes a zone. Returns false if the zone does not exist. Exit doors keep the deleted zone, which rejects their
   * scans. Without a zone, these doors would admit people.
   */
  async delete(workspaceId: string, id: string, at: Date): Promise<boolean> {
    if (!(await this.change(workspaceId, id, { deletedAt: at }))) return false
    await this.db('doors').where({ workspace_id: workspaceId, zone_id: id, direction: 'in' }).update(NO_ZONE)
    return true
  }

  /** Deletes the zones of a project. Locks the zones in order first. Otherwise, the unordered update could deadlock. */
  async endProject(workspaceId: string, projectId: string, at: Date): Promise<void> {
    const ids = await this.existing(workspaceId).where({ project_id: projectId }).pluck('id')
    await this.lock(workspaceId, ids, ['deny', 'warn'])
    await this.existing(workspaceId)
      .where({ project_id: projectId })
      .update({ deleted_at: at.getTime(), version: this.db.raw('version + 1') })
    await this.db('doors').where({ workspace_id: workspaceId, project_id: projectId }).update(NO_ZONE)
  }

  /**
   * Adds to the number of people inside, and returns the changed zone. Returns undefined if the zone changed since its
   * version was read, because the caller's data about the zone is outdated. The zone stays locked until the transaction
   * ends.
   */
  async add(
    workspaceId: string,
    { id, version }: Pick<StoredZone, 'id' | 'version'>,
    delta: number,
  ): Promise<StoredZone | undefined> {
    const [row] = await runPrepared<Row>(
      this.db,
      'add-to-zone',
      { workspaceId, id, version, delta },
      () => `update zones set inside = inside + :delta
        where workspace_id = :workspaceId and id = :id and version = :version returning ${ZONE.columns.join(', ')}`,
    )
    return row && ZONE.read(row)
  }

  async setAlerted(workspaceId: string, id: string, alerted: AlertLevel): Promise<void> {
    await this.db('zones').where({ workspace_id: workspaceId, id }).update({ alerted })
  }

  async hasAdjustment(workspaceId: string, zoneId: string, externalRef: string): Promise<boolean> {
    const row = await this.db('zone_adjustments')
      .where({ workspace_id: workspaceId, zone_id: zoneId, external_ref: externalRef })
      .first('id')
    return row !== undefined
  }

  /** Records an adjustment of a zone that the caller has locked, and returns the changed zone. */
  async adjust(
    workspaceId: string,
    zone: StoredZone,
    adjustment: NewAdjustment,
    now: Date,
  ): Promise<StoredZone | undefined> {
    const { delta, reason, externalRef } = adjustment
    const after = await this.add(workspaceId, zone, delta)
    if (!after) return undefined
    const at = latest(zone.resetAt, now)
    await this.db('zone_adjustments').insert({
      id: newId(at),
      workspace_id: workspaceId,
      zone_id: zone.id,
      segment: zone.segment,
      at: at.getTime(),
      delta,
      reason,
      external_ref: externalRef,
    })
    return after
  }

  /**
   * Resets a zone, so that everybody counts as outside until a later movement. The caller has locked the zone. Returns
   * undefined if the externalRef belongs to an earlier reset.
   */
  async reset(
    workspaceId: string,
    zone: StoredZone,
    { reason, externalRef }: { reason: string; externalRef?: string | undefined },
    now: Date,
  ): Promise<StoredZone | undefined> {
    const ofZone = { workspace_id: workspaceId, zone_id: zone.id }
    if (externalRef !== undefined) {
      const known = await this.db('zone_resets')
        .where({ ...ofZone, external_ref: externalRef })
        .first('segment')
      if (known) return undefined
    }
    const at = latest(zone.resetAt, now)
    const segment = zone.segment + 1
    if (!(await this.change(workspaceId, zone.id, { segment, resetAt: at }))) return undefined
    await this.db('zone_resets').insert({
      ...ofZone,
      segment,
      at: at.getTime(),
      reason,
      external_ref: externalRef ?? null,
    })
    await this.moveLater(workspaceId, zone, segment, at)
    const [movements, adjustments] = ['zone_movements', 'zone_adjustments'].map((table) =>
      this.db(table)
        .where({ ...ofZone, segment })
        .where('at', '>', at.getTime())
        .sum({ sum: 'delta' })
        .first(),
    )
    const inside = ((await movements)?.sum ?? 0) + ((await adjustments)?.sum ?? 0)
    return this.change(workspaceId, zone.id, { inside })
  }

  /** Moves rows with a time after the reset, from devices with fast clocks, into the new segment. */
  private async moveLater(workspaceId: string, zone: StoredZone, segment: number, at: Date): Promise<void> {
    const later = { workspace_id: workspaceId, zone_id: zone.id, segment: zone.segment }
    for (const table of ['zone_movements', 'zone_adjustments']) {
      await this.db(table).where(later).where('at', '>', at.getTime()).update({ segment })
    }
    const count = `case direction when 'in' then 1 else 0 end`
    await this.db.raw(
      `update zone_movements set delta = changed.delta from (
        select scan_id, ${count} - coalesce(lag(${count}) over (partition by pass_id order by at, sequence), 0) as delta
        from zone_movements
        where workspace_id = :workspaceId and zone_id = :zoneId and segment = :segment and at > :at
      ) as changed where zone_movements.scan_id = changed.scan_id`,
      { workspaceId, zoneId: zone.id, segment, at: at.getTime() },
    )
  }

  private async change(workspaceId: string, id: string, fields: Partial<StoredZone>): Promise<StoredZone | undefined> {
    const [row] = await this.existing(workspaceId)
      .where({ id })
      .update({ ...ZONE.write(fields), version: this.db.raw('version + 1') })
      .returning(ZONE.columns)
    return row && ZONE.read(row)
  }

  private existing(workspaceId: string) {
    return this.inScope(
      this.db('zones').where({ 'zones.workspace_id': workspaceId, deleted_at: null }),
      'zones.project_id',
    )
  }
}

/**
 * Returns the time of a reset or an adjustment: now or, if the clock was set back since, the time of the last reset.
 */
function latest(resetAt: Date | null, now: Date): Date {
  return resetAt && resetAt > now ? resetAt : now
}

const NO_ZONE = { zone_id: null, direction: null }
