import type { Knex } from 'knex'
import { moment } from '../db/dialect.ts'

/** The Google object of a pass: there from the first opening of its link on. */
export interface GoogleObject {
  passId: string
  /** The walletVersion that Google was last sent. */
  sentVersion: number
  sentAt: Date
  /** Null while nobody has the pass in Google Wallet. */
  installedAt: Date | null
  /** When a transit ticket was first activated; null for what never was. */
  activatedAt: Date | null
  lastError: string | null
}

interface Row {
  pass_id: string
  sent_version: number
  sent_at: number
  installed_at: number | null
  activated_at: number | null
  last_error: string | null
}

export class GoogleObjects {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  async list(workspaceId: string, passIds: string[]): Promise<GoogleObject[]> {
    const rows: Row[] = await this.db('google_objects').where({ workspace_id: workspaceId }).whereIn('pass_id', passIds)
    return rows.map(toObject)
  }

  /** Google was sent this version. Where it had been sent a newer one, only the older one is sure to be there. */
  async setSent(workspaceId: string, passId: string, version: number, at: Date): Promise<void> {
    const key = { workspace_id: workspaceId, pass_id: passId }
    const isOurs = await this.db('passes').where({ workspace_id: workspaceId, id: passId }).first('id')
    if (!isOurs) return
    await this.db('google_objects')
      .insert({ ...key, sent_version: version, sent_at: at.getTime() })
      .onConflict('pass_id')
      .ignore()
    await this.db('google_objects')
      .where(key)
      .update({ sent_version: version, sent_at: at.getTime(), last_error: null })
  }

  /**
   * A message in the back field of passes raised their walletVersion by one, and nothing that google shows changed: what
   * was current is still. Returns the passes that were not.
   */
  async keepCurrent(workspaceId: string, passIds: string[]): Promise<string[]> {
    const version = this.db('passes').whereRaw('id = google_objects.pass_id').select('wallet_version')
    const objects = () => this.db('google_objects').where({ workspace_id: workspaceId }).whereIn('pass_id', passIds)
    await objects()
      .whereRaw('sent_version + 1 = (?)', [version])
      .update({ sent_version: this.db.raw('sent_version + 1') })
    return objects().whereRaw('sent_version < (?)', [version]).pluck('pass_id')
  }

  async setError(workspaceId: string, passId: string, error: string): Promise<void> {
    await this.db('google_objects').where({ workspace_id: workspaceId, pass_id: passId }).update({ last_error: error })
  }

  /** Takes in a callback once: false when its nonce was seen before. */
  async takeCallback(nonce: string, at: Date): Promise<boolean> {
    const taken = await this.db('google_callbacks')
      .insert({ nonce, received_at: at.getTime() })
      .onConflict('nonce')
      .ignore()
      .returning('nonce')
    return taken.length > 0
  }

  /**
   * One person more has the pass in Google Wallet, or one less. Callbacks do not say who, and come in any order, so they
   * are counted: below zero a removal came before its save. Google's signature stands for the workspace.
   */
  async addHolders(passId: string, change: 1 | -1, at: Date): Promise<void> {
    await this.db('google_objects')
      .where({ pass_id: passId })
      .update({
        holders: this.db.raw('holders + ?', [change]),
        installed_at: this.db.raw('case when holders + ? > 0 then coalesce(installed_at, ?) end', [
          change,
          at.getTime(),
        ]),
      })
  }

  /** The holder of a transit ticket activated it. What comes again changes nothing. */
  async setActivated(passId: string, at: Date): Promise<void> {
    await this.db('google_objects')
      .where({ pass_id: passId })
      .whereNull('activated_at')
      .update({ activated_at: at.getTime() })
  }
}

function toObject(row: Row): GoogleObject {
  return {
    passId: row.pass_id,
    sentVersion: row.sent_version,
    sentAt: new Date(row.sent_at),
    installedAt: moment(row.installed_at),
    activatedAt: moment(row.activated_at),
    lastError: row.last_error,
  }
}
