import { newId } from '../../core/ids.ts'
import { isUuidText } from '../../core/uuid.ts'
import { field, findRecord, listRecords, mapping, type RecordOf } from '../db/record.ts'
import { insertNew, Repository } from '../db/repository.ts'

const WORKSPACE = mapping({
  id: field.text,
  name: field.text,
  createdAt: field.time,
  /** If set, the tokens of the workspace are rejected, and its jobs wait. */
  suspendedAt: field.optionalTime,
  /** The time after which the tokens of the workspace are rejected. */
  expiresAt: field.optionalTime,
  /** If set, hosted links to passes of the workspace are rejected. */
  linksClosedAt: field.optionalTime,
  /** Whether doors can download snapshots and report offline decisions. */
  offlineScanning: field.flag,
})

export interface StoredWorkspace extends RecordOf<typeof WORKSPACE> {}

export type WorkspaceChanges = Partial<Omit<StoredWorkspace, 'id' | 'name' | 'createdAt'>>

export class Workspaces extends Repository {
  /** Returns `undefined` if the name is in use. */
  async insert(
    name: string,
    at: Date,
    { expiresAt = null }: { expiresAt?: Date | null } = {},
  ): Promise<StoredWorkspace | undefined> {
    const workspace: StoredWorkspace = {
      id: newId(at),
      name,
      createdAt: at,
      suspendedAt: null,
      expiresAt,
      linksClosedAt: null,
      offlineScanning: true,
    }
    const isNew = await insertNew(this.db, 'workspaces', WORKSPACE.write(workspace), ['name'])
    return isNew ? workspace : undefined
  }

  /** Finds a workspace by name or ID. Names take precedence, because a name can equal the ID of another workspace. */
  async findByNameOrId(nameOrId: string): Promise<StoredWorkspace | undefined> {
    const named = await findRecord(this.db('workspaces').where({ name: nameOrId }), WORKSPACE.read)
    if (named || !isUuidText(nameOrId)) return named
    return findRecord(this.db('workspaces').where({ id: nameOrId.toLowerCase() }), WORKSPACE.read)
  }

  /** Returns all workspaces, by name. */
  async list(): Promise<StoredWorkspace[]> {
    return listRecords(this.db('workspaces').orderBy('name'), WORKSPACE.read)
  }

  async isOnly(id: string): Promise<boolean> {
    return (await this.db('workspaces').whereNot({ id }).first('id')) === undefined
  }

  async isEmpty(): Promise<boolean> {
    return (await this.db('workspaces').first('id')) === undefined
  }

  async update(id: string, changes: WorkspaceChanges): Promise<void> {
    await this.db('workspaces').where({ id }).update(WORKSPACE.write(changes))
  }
}
