import type { Knex } from 'knex'
import { newId } from '../../core/ids.ts'
import type { Role, Scope } from '../../core/route.ts'
import type { Direction } from '../../core/rules/zones/presence.ts'
import { bindIds, isAmong } from '../db/dialect.ts'
import { grouped } from '../db/grouped.ts'
import { runPrepared } from '../db/prepared.ts'
import { field, findRecord, listRecords, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'
import {
  type CallerWorkspace,
  type CallerWorkspaceRow,
  NO_USAGE,
  selectWorkspace,
  toWorkspace,
} from './caller-workspace.ts'
import type { DoorPlace, DoorReport } from './doors-repository.ts'
import { Usage } from './limits-repository.ts'

const TOKEN = mapping({
  id: field.text,
  workspaceId: field.text,
  name: field.text,
  role: field.plain<Role>(),
  scopes: field.json<Scope[]>(),
  createdAt: field.time,
  expiresAt: field.optionalTime,
  lastUsedAt: field.optionalTime,
  revokedAt: field.optionalTime,
  /** The projects that the token can access; null for the whole workspace. */
  projectIds: field.nullable(field.json<string[]>()),
  /** The ID of the token that replaced this token in a rotation. The rotation also set `expiresAt`. */
  replacedBy: field.optionalText,
})

/** An access token as it is stored, without the SHA-256 digest by which it is found. */
export interface StoredToken extends RecordOf<typeof TOKEN> {}

export interface TokenWithWorkspace extends StoredToken {
  workspace: CallerWorkspace
  /**
   * The door that has the token: its gate, zone, direction, and last report, and whether it has made a request. Null
   * for other tokens.
   */
  door: (DoorReport & DoorPlace & { isSeen: boolean }) | null
  /** The person whose session acts like a token; absent for tokens. */
  person?: { subject: string }
}

const ENDING = mapping({ id: field.text, name: field.text, workspaceName: field.text, expiresAt: field.time })

export interface EndingToken extends RecordOf<typeof ENDING> {}

export interface NewToken extends Pick<StoredToken, 'name' | 'role' | 'scopes' | 'projectIds' | 'expiresAt'> {
  digest: string
}

export class Tokens extends Repository {
  async insert(workspaceId: string, token: NewToken, at: Date): Promise<StoredToken> {
    const { digest, ...given } = token
    const stored = {
      ...given,
      id: newId(at),
      workspaceId,
      createdAt: at,
      lastUsedAt: null,
      revokedAt: null,
      replacedBy: null,
    }
    await this.db('tokens').insert({ ...TOKEN.write(stored), digest })
    return stored
  }

  /** Finds a token across workspaces, because the token determines the workspace. Concurrent calls share a query. */
  findByDigest(digest: string): Promise<TokenWithWorkspace | undefined> {
    return findTogether(this.db, digest)
  }

  /**
   * Returns a token and locks it until the transaction ends. Returns `undefined` for the token of a door: a phone
   * claims a door again instead of rotating the token.
   */
  async findForUpdate(workspaceId: string, id: string): Promise<StoredToken | undefined> {
    return findRecord(this.exceptDoors().where({ workspace_id: workspaceId, id }).forUpdate(), TOKEN.read)
  }

  /** The caller must have locked the token. */
  async setReplaced(
    workspaceId: string,
    id: string,
    { by, expiresAt }: { by: string; expiresAt: Date },
  ): Promise<void> {
    await this.db('tokens')
      .where({ workspace_id: workspaceId, id })
      .update({ replaced_by: by, expires_at: expiresAt.getTime() })
  }

  /**
   * Returns, for all workspaces, the tokens that expire between two times and have no successor, in order of expiry.
   * Omits tokens whose whole lifetime is shorter than the interval.
   */
  async listEnding(from: Date, until: Date, limit: number): Promise<EndingToken[]> {
    const ending = this.exceptDoors()
      .join('workspaces', 'workspaces.id', 'tokens.workspace_id')
      .where({ revoked_at: null, replaced_by: null })
      .where('tokens.expires_at', '>', from.getTime())
      .where('tokens.expires_at', '<=', until.getTime())
      .whereRaw('tokens.expires_at - tokens.created_at > ?', [until.getTime() - from.getTime()])
      .orderBy('tokens.expires_at')
      .limit(limit)
      .select('tokens.id', 'tokens.name', 'tokens.expires_at', { workspace_name: 'workspaces.name' })
    return listRecords(ending, ENDING.read)
  }

  /** Returns the tokens of a workspace in the order of creation. Omits tokens of doors. */
  async list(workspaceId: string): Promise<StoredToken[]> {
    const ofWorkspace = this.exceptDoors().where({ workspace_id: workspaceId })
    return listRecords(ofWorkspace.orderBy(['created_at', 'id']), TOKEN.read)
  }

  /** Returns the IDs of the tokens with the given name in all workspaces, for operators. */
  async listIdsByName(name: string): Promise<string[]> {
    return this.db('tokens').where({ name }).orderBy('id').pluck('id')
  }

  async isUnused(): Promise<boolean> {
    return (await this.db('tokens').whereNotNull('last_used_at').first('id')) === undefined
  }

  /** Returns false if the token does not exist. A second call keeps the time of the first. */
  async revoke(workspaceId: string, id: string, at: Date): Promise<boolean> {
    const count = await this.db('tokens')
      .where({ workspace_id: workspaceId, id })
      .update({ revoked_at: this.db.raw('coalesce(revoked_at, cast(? as bigint))', [at.getTime()]) })
    return count > 0
  }

  async setLastUsed(workspaceId: string, id: string, at: Date): Promise<void> {
    await this.db('tokens').where({ workspace_id: workspaceId, id }).update({ last_used_at: at.getTime() })
  }

  private exceptDoors() {
    const ofDoor = this.db('doors').whereRaw('doors.id = tokens.id').select(this.db.raw('1'))
    return this.db('tokens').whereNotExists(ofDoor)
  }
}

interface FoundRow extends RowOf<typeof TOKEN>, CallerWorkspaceRow {
  digest: string
  door_gate: string | null
  door_zone_id: string | null
  door_direction: Direction | null
  door_version: string | null
  door_pending_scans: number | null
  /** The time of the last request or, before the first request, the time of the claim. */
  door_last_seen_at: number | null
}

const findTogether = grouped(async (db: Knex, take: () => string[]): Promise<(TokenWithWorkspace | undefined)[]> => {
  const digests = take()
  const rows = await runPrepared<FoundRow>(db, 'find-tokens', { digests: bindIds(db, digests) }, () =>
    selectWorkspace(db('tokens'), 'tokens')
      .leftJoin('doors', 'doors.id', 'tokens.id')
      .whereRaw(isAmong(db, 'digest', 'digests', 'text'))
      // List the columns by name. PostgreSQL rejects a prepared statement with `*` after a column is added.
      .select(TOKEN.from('tokens'), 'tokens.digest', {
        door_gate: 'doors.gate',
        door_zone_id: 'doors.zone_id',
        door_direction: 'doors.direction',
        door_version: 'doors.version',
        door_pending_scans: 'doors.pending_scans',
        door_last_seen_at: 'doors.last_seen_at',
      }),
  )
  const limited = rows.filter((row) => row.door_gate === null).map((row) => row.workspace_id)
  const usage = await new Usage({ db }).listStored([...new Set(limited)])
  const tokens = new Map<string, TokenWithWorkspace>()
  for (const row of rows) {
    const door = doorOf(row)
    tokens.set(row.digest, {
      ...TOKEN.read(row),
      // Read no usage for doors, because their scans do not add stored data.
      workspace: toWorkspace(row, door ? NO_USAGE : usage.get(row.workspace_id)),
      door,
    })
  }
  return digests.map((digest) => tokens.get(digest))
})

function doorOf(row: FoundRow) {
  const { door_gate: gate, door_version: version, door_pending_scans: pendingScans } = row
  const { door_zone_id: zoneId, door_direction: direction } = row
  return gate === null
    ? null
    : { gate, zoneId, direction, version, pendingScans, isSeen: row.door_last_seen_at !== row.created_at }
}
