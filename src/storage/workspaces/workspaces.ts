import type { Knex } from 'knex'
import { newId } from '../../core/ids.ts'
import { isUuidText } from '../../core/uuid.ts'
import { toDate } from '../db/dialect.ts'

/** A workspace, and what keeps it from being used. */
export interface StoredWorkspace {
  id: string
  name: string
  createdAt: Date
  suspendedAt: Date | null
  /** From then on its tokens are refused. */
  expiresAt: Date | null
  /** While set, hosted links of its passes are refused. */
  linksClosedAt: Date | null
  /** Whether scanners may take lists with them and report what they decided offline. */
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

/** Workspaces, and whether each may be used now. */
export class Workspaces {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /** The new workspace, or undefined when the name is taken. */
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

  /** Names come before ids: a workspace may be called like another one's id. */
  async findByNameOrId(nameOrId: string): Promise<StoredWorkspace | undefined> {
    const row: Row | undefined =
      (await this.db('workspaces').where({ name: nameOrId }).first()) ??
      (isUuidText(nameOrId) ? await this.db('workspaces').where({ id: nameOrId.toLowerCase() }).first() : undefined)
    return row && toWorkspace(row)
  }

  /** Every workspace, by name. */
  async list(): Promise<StoredWorkspace[]> {
    return (await this.db<Row>('workspaces').orderBy('name')).map(toWorkspace)
  }

  /** True where the server has no other workspace. */
  async isOnly(id: string): Promise<boolean> {
    return (await this.db('workspaces').whereNot({ id }).first('id')) === undefined
  }

  /** True where there is no workspace yet. */
  async isEmpty(): Promise<boolean> {
    return (await this.db('workspaces').first('id')) === undefined
  }

  /**
   * Suspends a workspace, or resumes it with null.
   * @param options.closesLinks whether hosted links of its passes are refused meanwhile; who resumes opens them again
   */
  async setSuspended(id: string, at: Date | null, { closesLinks = false } = {}): Promise<void> {
    const suspendedAt = at?.getTime() ?? null
    await this.db('workspaces')
      .where({ id })
      .update({ suspended_at: suspendedAt, links_closed_at: closesLinks ? suspendedAt : null })
  }

  /** From this moment on a workspace takes no more changes; null is never. */
  async setExpiry(id: string, expiresAt: Date | null): Promise<void> {
    await this.db('workspaces')
      .where({ id })
      .update({ expires_at: expiresAt?.getTime() ?? null })
  }

  /** Whether doors of a workspace may scan without the network. */
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
