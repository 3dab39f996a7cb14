import type { Knex } from 'knex'
import { newId } from '../../core/ids.ts'
import type { Direction } from '../../core/rules/zones/presence.ts'
import { updateRows } from '../db/bulk-rows.ts'
import { toDate } from '../db/dialect.ts'
import { byId, type ListPage, type ListRequest, listPage } from '../db/list-query.ts'
import { field, findRecord, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { countRows, Repository } from '../db/repository.ts'

const DOOR = mapping({
  id: field.text,
  name: field.text,
  projectId: field.text,
  /** Null if the project is deleted. */
  projectName: field.optionalText,
  gate: field.text,
  zoneId: field.optionalText,
  /** Set if the door has a zone. */
  direction: field.plain<Direction | null>(),
  createdAt: field.time,
  expiresAt: field.time,
  lastSeenAt: field.time,
  version: field.optionalText,
  pendingScans: field.optionalNumber,
  revokedAt: field.optionalTime,
})

/** A door. Its ID is the ID of its token. */
export interface StoredDoor extends Omit<RecordOf<typeof DOOR>, 'lastSeenAt'> {
  /** Null if the door has made no request since it was claimed. */
  lastSeenAt: Date | null
}

const INVITATION = mapping({
  projectId: field.text,
  gate: field.text,
  codeDigest: field.text,
  uses: field.inColumn('uses_left', field.number),
  expiresAt: field.time,
})

export interface ClaimedInvitation {
  workspaceId: string
  projectId: string
  gate: string
  workspace: { suspendedAt: Date | null; expiresAt: Date | null }
}

export type DoorPlace = Pick<StoredDoor, 'gate' | 'zoneId' | 'direction'>

/** The state that a door reports; null values if the door has not reported its state. */
export type DoorReport = Pick<StoredDoor, 'version' | 'pendingScans'>

/** A request of a door, with the state that it reported. */
export interface DoorState extends DoorReport {
  doorId: string
  at: Date
}

/** The value of `uses_left` that marks a revoked invitation. */
const ENDED = -1

export interface DoorChange extends Partial<DoorPlace> {
  name?: string
}

export interface DoorListRequest extends ListRequest {
  projectId?: string[] | undefined
  revoked?: boolean | undefined
  id?: string | undefined
}

export class Doors extends Repository {
  /** Returns the ID of the invitation. The caller must have locked the project. */
  async insertInvitation(workspaceId: string, invitation: RecordOf<typeof INVITATION>, at: Date): Promise<string> {
    const id = newId(at)
    await this.db('door_invitations').insert({ ...INVITATION.write(invitation), id, workspace_id: workspaceId })
    return id
  }

  /**
   * Revokes an invitation. Keeps its row, so that a claim can report that the invitation has ended. Returns false if
   * there was no invitation to revoke.
   */
  async endInvitation(workspaceId: string, id: string): Promise<boolean> {
    const query = this.db('door_invitations').where({ workspace_id: workspaceId, id }).where('uses_left', '<>', ENDED)
    return (await this.inScope(query, 'project_id').update({ uses_left: ENDED })) > 0
  }

  /** Counts the usable invitations of a project, their remaining uses, and its active doors. */
  async counts(
    workspaceId: string,
    projectId: string,
    at: Date,
  ): Promise<{ invitations: number; uses: number; doors: number }> {
    const ofProject = { workspace_id: workspaceId, project_id: projectId }
    const open = await this.db('door_invitations')
      .where(ofProject)
      .where('uses_left', '>', 0)
      .where('expires_at', '>', at.getTime())
      .first(this.db.raw('count(*) as n, sum(uses_left) as uses'))
    const live = this.live(at).where({ 'doors.workspace_id': workspaceId, 'doors.project_id': projectId })
    return { invitations: open.n, uses: open.uses ?? 0, doors: await countRows(live) }
  }

  /**
   * Takes one use of an invitation; returns `undefined` if it is not usable. Finds the invitation across workspaces by
   * its code. One statement updates the row, so that concurrent claims never exceed the number of uses.
   */
  async claim(codeDigest: string, at: Date): Promise<ClaimedInvitation | undefined> {
    const [row] = await this.db('door_invitations')
      .where({ code_digest: codeDigest })
      .where('uses_left', '>', 0)
      .where('expires_at', '>', at.getTime())
      .update({ uses_left: this.db.raw('uses_left - 1') })
      .returning(['workspace_id', 'project_id', 'gate'])
    if (!row) return undefined
    const workspace = await this.db('workspaces').where({ id: row.workspace_id }).first('suspended_at', 'expires_at')
    return {
      workspaceId: row.workspace_id,
      projectId: row.project_id,
      gate: row.gate,
      workspace: { suspendedAt: toDate(workspace.suspended_at), expiresAt: toDate(workspace.expires_at) },
    }
  }

  /** Returns `open` if a claim with this code would succeed, or the reason why it would not. */
  async invitationState(codeDigest: string, at: Date): Promise<'open' | 'used_up' | 'ended' | 'unknown'> {
    const row = await this.db('door_invitations').where({ code_digest: codeDigest }).first('uses_left', 'expires_at')
    if (!row) return 'unknown'
    if (row.uses_left === ENDED || row.expires_at <= at.getTime()) return 'ended'
    return row.uses_left > 0 ? 'open' : 'used_up'
  }

  async insert(workspaceId: string, door: { id: string; projectId: string; gate: string }, at: Date): Promise<void> {
    const { id, projectId, gate } = door
    const row = { id, workspace_id: workspaceId, project_id: projectId, gate, last_seen_at: at.getTime() }
    await this.db('doors').insert(row)
  }

  async find(workspaceId: string, id: string): Promise<StoredDoor | undefined> {
    return findRecord(selectDoor(this.ofWorkspace(workspaceId).where('doors.id', id)), toDoor)
  }

  async list(workspaceId: string, request: DoorListRequest): Promise<ListPage<StoredDoor>> {
    const { projectId, revoked, id } = request
    const filtered = this.ofWorkspace(workspaceId)
    if (projectId) filtered.whereIn('doors.project_id', projectId)
    if (id !== undefined) filtered.where('doors.id', id)
    if (revoked !== undefined) {
      const ofDoor = this.db('tokens').whereRaw('tokens.id = doors.id').select(this.db.raw('1'))
      filtered.whereExists(revoked ? ofDoor.whereNotNull('revoked_at') : ofDoor.whereNull('revoked_at'))
    }
    return listPage(this.db, filtered, byId('doors'), request, toDoor, selectDoor)
  }

  /** Returns false if the door does not exist. */
  async update(workspaceId: string, id: string, { name, ...place }: DoorChange): Promise<boolean> {
    const own = () => this.ofWorkspace(workspaceId).where('doors.id', id)
    if (!(await own().first('doors.id'))) return false
    const changed = DOOR.write(place)
    if (Object.keys(changed).length > 0) await own().update(changed)
    if (name !== undefined) await this.db('tokens').where({ workspace_id: workspaceId, id }).update({ name })
    return true
  }

  /** Returns false if the door does not exist. A second revocation keeps the time of the first. */
  async revoke(workspaceId: string, id: string, at: Date): Promise<boolean> {
    const found = await this.ofWorkspace(workspaceId).where('doors.id', id).pluck('doors.id')
    await this.revokeTokens(workspaceId, found, at)
    return found.length > 0
  }

  /**
   * Revokes all doors of a project. First deletes the invitations, to wait for concurrent claims. Otherwise, the doors
   * of these claims would stay valid.
   */
  async endProject(workspaceId: string, projectId: string, at: Date): Promise<void> {
    await this.db('door_invitations').where({ workspace_id: workspaceId, project_id: projectId }).delete()
    const ids = this.ofWorkspace(workspaceId).where({ project_id: projectId }).select('id')
    await this.revokeTokens(workspaceId, ids, at)
  }

  async setSeen(workspaceId: string, states: DoorState[]): Promise<void> {
    const changes = states.map(({ doorId, at, version, pendingScans }) => ({
      id: doorId,
      set: { last_seen_at: at.getTime(), version, pending_scans: pendingScans },
    }))
    if (changes.length === 0) return
    const set = { last_seen_at: 'bigint', version: 'text', pending_scans: 'integer' } as const
    await updateRows(this.db, workspaceId, { name: 'set-doors-seen', table: 'doors', set }, changes)
  }

  /**
   * Counts, in all workspaces, the active doors that were seen since a time, and the pending scans of all active doors.
   */
  async overview(seenSince: Date, at: Date): Promise<{ online: number; pendingScans: number }> {
    const online = await countRows(this.live(at).where('last_seen_at', '>=', seenSince.getTime()))
    const pending = await this.live(at).where('pending_scans', '>', 0).sum({ n: 'pending_scans' }).first()
    return { online, pendingScans: pending?.n ?? 0 }
  }

  private revokeTokens(workspaceId: string, ids: string[] | Knex.QueryBuilder, at: Date) {
    return this.db('tokens')
      .where({ workspace_id: workspaceId })
      .whereIn('id', ids as string[])
      .whereNull('revoked_at')
      .update({ revoked_at: at.getTime() })
  }

  /** Selects the doors with valid tokens, in all workspaces. */
  private live(at: Date) {
    return this.db('doors')
      .join('tokens', 'tokens.id', 'doors.id')
      .whereNull('tokens.revoked_at')
      .where('tokens.expires_at', '>', at.getTime())
  }

  private ofWorkspace(workspaceId: string) {
    return this.inScope(this.db('doors').where('doors.workspace_id', workspaceId), 'doors.project_id')
  }
}

function selectDoor(doors: Knex.QueryBuilder): Knex.QueryBuilder {
  return doors
    .join('tokens', 'tokens.id', 'doors.id')
    .leftJoin('projects', 'projects.id', 'doors.project_id')
    .select('doors.*', 'tokens.name', 'tokens.created_at', 'tokens.expires_at', 'tokens.revoked_at')
    .select({ project_name: 'projects.name' })
}

function toDoor(row: RowOf<typeof DOOR>): StoredDoor {
  // Before the first request, `last_seen_at` is the creation time of the token.
  const isSeen = row.last_seen_at !== row.created_at
  return { ...DOOR.read(row), lastSeenAt: isSeen ? new Date(row.last_seen_at) : null }
}
