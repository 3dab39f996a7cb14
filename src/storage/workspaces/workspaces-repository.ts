import { newId } from '../../core/ids.ts'
import { isUuidText } from '../../core/uuid.ts'
import { toDate } from '../db/dialect.ts'
import { Repository } from '../db/repository.ts'

export interface StoredWorkspace {
  id: string
  name: string
  createdAt: Date
  suspendedAt: Date | null
  /** The time after which its tokens are rejected. */
  expiresAt: Date | null
  /** If set, hosted links of its passes are rejected. */
  linksClosedAt: Date | null
  /** Whether doors can download snapshots and report offline decisions. */
  offlineScanning: boolean
}

interface Row {
  id: string
  name: string
  created_at: number
  suspended_at: number | null
  expires_at: number | null
  links_closed_at: number | null
  offline_scanning: boolean
}

/** The workspaces and their state. */
export class Workspaces extends Repository {
  /** Creates a workspace; returns `undefined` if the name is in use. */
  async insert(
    name: string,
    at: Date,
    { expiresAt = null }: { expiresAt?: Date | null } = {},
  ): Promise<StoredWorkspace | undefined> {
    const row: Row = {
      id: newId(at),
      name,
      created_at: at.getTime(),
      suspended_at: null,
      expires_at: expiresAt?.getTime() ?? null,
      links_closed_at: null,
      offline_scanning: true,
    }
    const [inserted] = await this.db('workspaces').insert(row).onConflict('name').ignore().returning('id')
    return inserted && toWorkspace(row)
  }

  /** Finds a workspace by name or ID. Names take precedence, because a name can equal the ID of another workspace. */
  async findByNameOrId(nameOrId: string): Promise<StoredWorkspace | undefined> {
    const row: Row | undefined =
      (await this.db('workspaces').where({ name: nameOrId }).first()) ??
      (isUuidText(nameOrId) ? await this.db('workspaces').where({ id: nameOrId.toLowerCase() }).first() : undefined)
    return row && toWorkspace(row)
  }

  /** Returns all workspaces, by name. */
  async list(): Promise<StoredWorkspace[]> {
    return (await this.db<Row>('workspaces').orderBy('name')).map(toWorkspace)
  }

  /** Whether the server has no other workspace. */
  async isOnly(id: string): Promise<boolean> {
    return (await this.db('workspaces').whereNot({ id }).first('id')) === undefined
  }

  /** Whether the server has no workspace. */
  async isEmpty(): Promise<boolean> {
    return (await this.db('workspaces').first('id')) === undefined
  }

  /**
   * Suspends a workspace, or resumes it if `at` is null.
   * @param options.closesLinks whether hosted links of its passes are rejected until it resumes
   */
  async setSuspended(id: string, at: Date | null, { closesLinks = false } = {}): Promise<void> {
    const suspendedAt = at?.getTime() ?? null
    await this.db('workspaces')
      .where({ id })
      .update({ suspended_at: suspendedAt, links_closed_at: closesLinks ? suspendedAt : null })
  }

  /** Sets the time after which a workspace accepts no changes; null for never. */
  async setExpiry(id: string, expiresAt: Date | null): Promise<void> {
    await this.db('workspaces')
      .where({ id })
      .update({ expires_at: expiresAt?.getTime() ?? null })
  }

  /** Sets whether doors of a workspace can scan offline. */
  async setOfflineScanning(id: string, allowed: boolean): Promise<void> {
    await this.db('workspaces').where({ id }).update({ offline_scanning: allowed })
  }
}

function toWorkspace(row: Row): StoredWorkspace {
  return {
    id: row.id,
    name: row.name,
    createdAt: new Date(row.created_at),
    suspendedAt: toDate(row.suspended_at),
    expiresAt: toDate(row.expires_at),
    linksClosedAt: toDate(row.links_closed_at),
    offlineScanning: Boolean(row.offline_scanning),
  }
}
