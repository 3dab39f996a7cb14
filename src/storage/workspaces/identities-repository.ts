import type { Knex } from 'knex'
import { type Platform, platforms } from '../../core/contract/schemas/platform.ts'
import { newId } from '../../core/ids.ts'
import { NIL_UUID } from '../../core/uuid.ts'
import { type ListPage, type ListRequest, type ListSpec, listPage } from '../db/list-query.ts'
import { field, findRecord, listRecords, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'

/** The reserved name of the default identity, which the flags of `serve` define. It has no row. */
export const SERVER_IDENTITY = 'server'

const IDENTITY = mapping({
  id: field.text,
  platform: field.plain<Platform>(),
  /** The name, which is unique on the server. */
  name: field.text,
  /** A retired identity issues no new passes but maintains its existing ones. */
  status: field.plain<'active' | 'retired'>(),
  isSandbox: field.flag,
  /** The Apple pass type; no other identity has it. */
  passTypeIdentifier: field.optionalText,
  teamIdentifier: field.optionalText,
  /** The ID of the Google issuer account; no other identity has it. */
  issuerId: field.optionalText,
  /** The expiry of the certificate; null if nothing expires. */
  expiresAt: field.optionalTime,
  /** The certificates and keys, sealed with the server key; null if the identity uses the account of the machine. */
  sealed: field.optionalText,
  /** A number that is incremented with every change. */
  version: field.number,
  createdAt: field.time,
  updatedAt: field.time,
})

/** An identity that signs and updates passes, in addition to the identity in the server's flags (decisions/0019). */
export interface StoredIdentity extends RecordOf<typeof IDENTITY> {}

type Row = RowOf<typeof IDENTITY>

/** Returns the ID of the identity's account at the platform. */
export function accountOf({ passTypeIdentifier, issuerId }: StoredIdentity): string | null {
  return passTypeIdentifier ?? issuerId
}

export type NewIdentity = Omit<StoredIdentity, 'id' | 'status' | 'version' | 'createdAt' | 'updatedAt' | 'sealed'>

/** The identities under which a pass is issued; null for the identity of the server. */
export type IdentityIds = Record<`${Platform}IdentityId`, string | null>

export const identityFields = Object.fromEntries(
  platforms.map((platform) => [`${platform}IdentityId`, field.optionalText]),
) as Record<keyof IdentityIds, typeof field.optionalText>

const IDS = mapping(identityFields)

/**
 * Returns the identity fields of a record without its other fields. Missing fields are null, for the identity of the
 * server.
 */
export function identityIdsOf(ids: Partial<IdentityIds>): IdentityIds {
  const names = platforms.map((platform) => `${platform}IdentityId` as const)
  return Object.fromEntries(names.map((name) => [name, ids[name] ?? null])) as IdentityIds
}

const GRANTED = ['identities.*', 'granted.is_retired']

const SPEC: ListSpec = {
  name: 'identities',
  id: 'identities.id',
  sorts: {
    name: { key: 'identities.name', type: 'text' },
    createdAt: { key: 'identities.created_at' },
  },
}

/** The identities of a server, the workspaces that can use each, and the defaults of workspaces and projects. */
export class Identities extends Repository {
  /** Returns `undefined` if the name, pass type, or issuer of the identity is in use. */
  async insert(
    identity: NewIdentity,
    sealedFor: (id: string) => string | null,
    at: Date,
  ): Promise<StoredIdentity | undefined> {
    const id = newId(at)
    const stored: StoredIdentity = {
      ...identity,
      id,
      status: 'active',
      sealed: sealedFor(id),
      version: 1,
      createdAt: at,
      updatedAt: at,
    }
    const inserted = await this.db('identities').insert(IDENTITY.write(stored)).onConflict().ignore().returning('id')
    return inserted.length > 0 ? stored : undefined
  }

  async findAny(
    text: Partial<Pick<StoredIdentity, 'name' | 'passTypeIdentifier' | 'issuerId'>>,
  ): Promise<StoredIdentity | undefined> {
    const matching = this.db('identities').where((any) => {
      if (text.name) any.orWhere({ name: text.name })
      if (text.passTypeIdentifier) any.orWhere({ pass_type_identifier: text.passTypeIdentifier })
      if (text.issuerId) any.orWhere({ issuer_id: text.issuerId })
    })
    return findRecord(matching, IDENTITY.read)
  }

  async findForUpdate(name: string): Promise<StoredIdentity | undefined> {
    return findRecord(this.db('identities').where({ name }).forUpdate(), IDENTITY.read)
  }

  /** Returns all identities of the server, by name. */
  async listAll(): Promise<StoredIdentity[]> {
    return listRecords(this.db('identities').orderBy('name'), IDENTITY.read)
  }

  /** Returns the version of each identity. Servers repeat this small read often, to detect changes. */
  async versions(): Promise<Map<string, number>> {
    const rows: Pick<Row, 'id' | 'version'>[] = await this.db('identities').select('id', 'version')
    return new Map(rows.map(({ id, version }) => [id, version]))
  }

  async listByIds(ids: string[]): Promise<StoredIdentity[]> {
    return ids.length > 0 ? listRecords(this.db('identities').whereIn('id', ids), IDENTITY.read) : []
  }

  /**
   * Returns a page of the identities that are granted to a workspace. If the workspace can no longer issue passes under
   * an identity, the status of the identity is `retired`.
   */
  async list(workspaceId: string, request: ListRequest): Promise<ListPage<StoredIdentity>> {
    const granted = joinGrants(this.db('identities'), workspaceId)
    const select = (query: Knex.QueryBuilder) => joinGrants(query, workspaceId).select(GRANTED)
    return listPage(this.db, granted, SPEC, request, toGranted, select)
  }

  /** Returns an identity that is granted to a workspace, and locks it until the transaction ends. */
  async findGranted(workspaceId: string, id: string): Promise<StoredIdentity | undefined> {
    const one = joinGrants(this.db('identities'), workspaceId).where('identities.id', id)
    return findRecord(one.forUpdate().select(GRANTED), toGranted)
  }

  /** Changes an identity that the caller has locked. */
  async update(
    id: string,
    change: Partial<Pick<StoredIdentity, 'status' | 'expiresAt' | 'sealed'>>,
    at: Date,
  ): Promise<void> {
    const columns = { ...IDENTITY.write({ ...change, updatedAt: at }), version: this.db.raw('version + 1') }
    await this.db('identities').where({ id }).update(columns)
  }

  /** Stores the same secrets, sealed with another server key, unless they changed since `before` was read. */
  async replaceSealed(id: string, before: string, sealed: string): Promise<void> {
    await this.db('identities').where({ id, sealed: before }).update({ sealed })
  }

  async insertGrant(workspaceId: string, identityId: string): Promise<void> {
    await this.db('workspace_identities')
      .insert({ workspace_id: workspaceId, identity_id: identityId, is_retired: false })
      .onConflict(['workspace_id', 'identity_id'])
      .merge()
  }

  /** Stops a workspace from issuing new passes under an identity. Returns false if the identity was not granted. */
  async retireGrant(workspaceId: string, identityId: string): Promise<boolean> {
    const grant = this.db('workspace_identities').where({ workspace_id: workspaceId, identity_id: identityId })
    return (await grant.update({ is_retired: true })) > 0
  }

  /** Sets the identity of new passes of a workspace or of one of its projects; null inherits the default. */
  async setDefault(
    { workspaceId, projectId }: { workspaceId: string; projectId?: string | undefined },
    platform: Platform,
    identityId: string | null,
  ): Promise<void> {
    const change = { [`${platform}_identity_id`]: identityId }
    if (projectId === undefined) await this.db('workspaces').where({ id: workspaceId }).update(change)
    else await this.db('projects').where({ workspace_id: workspaceId, id: projectId }).update(change)
  }

  /**
   * Returns up to `limit` workspaces and up to `limit` projects with this default identity. With `workspaceId`, returns
   * only this workspace and its projects.
   */
  async listUses(
    { id, platform }: Pick<StoredIdentity, 'id' | 'platform'>,
    limit: number,
    workspaceId?: string,
  ): Promise<IdentityUse[]> {
    const column = `${platform}_identity_id`
    const ofWorkspace = workspaceId === undefined ? {} : { 'workspaces.id': workspaceId }
    const workspaces: { workspace: string }[] = await this.db('workspaces')
      .where({ [column]: id, ...ofWorkspace })
      .orderBy('name')
      .limit(limit)
      .select({ workspace: 'name' })
    const projects: IdentityUse[] = await this.db('workspace_identities')
      .where({ identity_id: id, ...ofWorkspace })
      .join('projects', 'projects.workspace_id', 'workspace_identities.workspace_id')
      .join('workspaces', 'workspaces.id', 'projects.workspace_id')
      .where(`projects.${column}`, id)
      .orderBy('projects.id')
      .limit(limit)
      .select({ workspace: 'workspaces.name', project: 'projects.name' })
    return [...workspaces, ...projects]
  }

  /** Returns the names of up to `limit` workspaces that can use the identity. */
  async listUsers(id: string, limit: number): Promise<string[]> {
    return this.db('workspace_identities')
      .where({ identity_id: id, is_retired: false })
      .join('workspaces', 'workspaces.id', 'workspace_identities.workspace_id')
      .orderBy('workspaces.name')
      .limit(limit)
      .pluck('workspaces.name')
  }

  /** Returns the workspaces that can have passes under the identity. */
  async listWorkspaces(id: string): Promise<string[]> {
    return this.db('workspace_identities').where({ identity_id: id }).orderBy('workspace_id').pluck('workspace_id')
  }

  /** Returns the identities of new passes of a project, or of a workspace. */
  async findDefaults(workspaceId: string, projectId: string | null): Promise<IdentityIds> {
    const row: RowOf<typeof IDS> | undefined = await this.db('workspaces')
      .leftJoin('projects', (join) =>
        join.on('projects.workspace_id', 'workspaces.id').andOnVal('projects.id', projectId ?? NIL_UUID),
      )
      .where('workspaces.id', workspaceId)
      .first(defaultsOf(this.db))
    return row ? IDS.read(row) : identityIdsOf({})
  }
}

/** Returns the columns of the default identities of a project, for a query that joins `projects` and `workspaces`. */
export function defaultsOf(db: Knex): Record<string, Knex.Raw> {
  const ofPlatform = (platform: Platform) =>
    db.raw(`coalesce(projects.${platform}_identity_id, workspaces.${platform}_identity_id)`)
  return Object.fromEntries(platforms.map((platform) => [`${platform}_identity_id`, ofPlatform(platform)]))
}

/** A project with the identity as its default, or a workspace if `project` is omitted. */
export interface IdentityUse {
  workspace: string
  project?: string
}

function joinGrants(identities: Knex.QueryBuilder, workspaceId: string): Knex.QueryBuilder {
  return identities
    .join({ granted: 'workspace_identities' }, 'granted.identity_id', 'identities.id')
    .where('granted.workspace_id', workspaceId)
}

function toGranted(row: Row & { is_retired: boolean }): StoredIdentity {
  const identity = IDENTITY.read(row)
  return row.is_retired ? { ...identity, status: 'retired' } : identity
}
