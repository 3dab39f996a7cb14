import { newId } from '../../core/ids.ts'
import { isUuidText } from '../../core/uuid.ts'
import { flag, mapping, optionalTime, type RecordOf, type RowOf, text, time } from '../db/record.ts'
import { Repository } from '../db/repository.ts'

const WORKSPACE = mapping({
  id: text,
  name: text,
  createdAt: time,
  suspendedAt: optionalTime,
  /** The time after which the tokens of the workspace are rejected. */
  expiresAt: optionalTime,
  /** If set, hosted links to passes of the workspace are rejected. */
  linksClosedAt: optionalTime,
  /** Whether doors can download snapshots and report offline decisions. */
  offlineScanning: flag,
})

export interface StoredWorkspace extends RecordOf<typeof WORKSPACE> {}

type Row = RowOf<typeof WORKSPACE>

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
    const row = WORKSPACE.write(workspace)
    const [inserted] = await this.db('workspaces').insert(row).onConflict('name').ignore().returning('id')
    return inserted && workspace
  }

  /** Finds a workspace by name or ID. Names take precedence, because a name can equal the ID of another workspace. */
  async findByNameOrId(nameOrId: string): Promise<StoredWorkspace | undefined> {
    const row: Row | undefined =
      (await this.db('workspaces').where({ name: nameOrId }).first()) ??
      (isUuidText(nameOrId) ? await this.db('workspaces').where({ id: nameOrId.toLowerCase() }).first() : undefined)
    return row && WORKSPACE.read(row)
  }

  /** Returns all workspaces, by name. */
  async list(): Promise<StoredWorkspace[]> {
    return (await this.db<Row>('workspaces').orderBy('name')).map(WORKSPACE.read)
  }

  async isOnly(id: string): Promise<boolean> {
    return (await this.db('workspaces').whereNot({ id }).first('id')) === undefined
  }

  async isEmpty(): Promise<boolean> {
    return (await this.db('workspaces').first('id')) === undefined
  }

  /**
   * Suspends a workspace, or resumes it if `at` is null.
   * @param options.closesLinks whether hosted links to passes are rejected until the workspace resumes
   */
  async setSuspended(id: string, at: Date | null, { closesLinks = false } = {}): Promise<void> {
    const suspendedAt = at?.getTime() ?? null
    await this.db('workspaces')
      .where({ id })
      .update({ suspended_at: suspendedAt, links_closed_at: closesLinks ? suspendedAt : null })
  }

  /** Sets the time after which the tokens of a workspace are rejected; null for never. */
  async setExpiry(id: string, expiresAt: Date | null): Promise<void> {
    await this.db('workspaces')
      .where({ id })
      .update({ expires_at: expiresAt?.getTime() ?? null })
  }

  async setOfflineScanning(id: string, allowed: boolean): Promise<void> {
    await this.db('workspaces').where({ id }).update({ offline_scanning: allowed })
  }
}
