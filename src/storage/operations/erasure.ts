import type { Knex } from 'knex'
import { foldCase } from '../../core/rules/lists/search.ts'
import { boundColumn, forUpdate, idIsChosen, isPostgres } from '../db/dialect.ts'
import { withWalletVersionBump } from '../passes/pass-change.ts'

/** Rows that hold, or may hold, something of the holder of a pass. */
export interface Holdings {
  variables: number
  notifications: number
  scans: number
  events: number
  /** Of those events to endpoints, still to be sent. */
  pendingDeliveries: number
}

/** What stands where something of a holder stood. */
const ERASED_LABEL = 'Erased'

/** What a pass is called whose own name was erased: unique, and telling nothing. */
export function erasedExternalId(passId: string): string {
  return `erased-${passId}`
}

const ENDED = 'The data of the pass was erased.'

/** Takes the data of a holder out of everything that is kept. The rows stay, and with them every count and verdict. */
export class Erasure {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  async count(workspaceId: string, passId: string): Promise<Holdings> {
    const events = await Promise.all(this.events(workspaceId, passId).map(countOf))
    const pending = await Promise.all(this.events(workspaceId, passId).map((some) => countOf(this.pendingOf(some))))
    return {
      variables: await countOf(this.ofPass('pass_variables', workspaceId, passId)),
      notifications: await countOf(this.ofPass('notifications', workspaceId, passId)),
      scans: await countOf(this.ofPass('scans', workspaceId, passId)),
      events: sum(events),
      pendingDeliveries: sum(pending),
    }
  }

  /** Holds the notifications of the pass until the transaction ends; who delivers them takes them before the pass, too. */
  async lockNotifications(workspaceId: string, passId: string): Promise<void> {
    await forUpdate(this.db, this.ofPass('notifications', workspaceId, passId).orderBy('id')).select('id')
  }

  /**
   * The caller holds the notifications and the pass, and makes it void.
   * @param scanCodeDigest of the identifier that was made by chance: it is kept, so that the code is still known as void;
   * other identifiers were made of the holder's data
   */
  async erase(workspaceId: string, passId: string, scanCodeDigest: Uint8Array, at: Date): Promise<void> {
    await this.whileSearchForgets(() => this.erasePass(workspaceId, passId, at))
    await this.ofPass('pass_variables', workspaceId, passId).delete()
    await this.ofPass('pass_identifiers', workspaceId, passId).whereNot({ digest: scanCodeDigest }).delete()
    for (const events of this.events(workspaceId, passId)) {
      // First: who makes deliveries of them at this moment is waited for, so that these are seen below.
      await this.db('pending_events').whereIn('id', events.clone().select('id')).delete()
      await this.endDeliveries(events, at)
      await events
        .clone()
        .clearSelect()
        .update({ data: this.db.raw(`'{"id":"' || cast(subject as text) || '"}'`) })
    }
    await this.ofPass('scans', workspaceId, passId).update({
      external_pass_id: null,
      payload_digest: null,
      context: null,
      reversal_reason: null,
      message: 'Erased.',
    })
    const notifications = this.ofPass('notifications', workspaceId, passId)
    await this.db('jobs')
      .whereNull('claim_token')
      .whereIn('subject', notifications.clone().select('id').unionAll(this.one(workspaceId, passId).select('id')))
      .update({ last_error: null })
    await notifications
      .clone()
      .whereNotNull('body')
      .update({ body: '', options: '{}', idempotency_key: null, updated_at: at.getTime() })
    await notifications.update({ apple_error: null, google_error: null })
    // A platform may quote what it refuses.
    await this.db('refusals').where({ workspace_id: workspaceId, subject: passId }).delete()
    await this.ofPass('google_objects', workspaceId, passId).update({ last_error: null })
  }

  private async erasePass(workspaceId: string, passId: string, at: Date): Promise<void> {
    const externalId = erasedExternalId(passId)
    const change = {
      label: ERASED_LABEL,
      label_folded: foldCase(ERASED_LABEL),
      variables: '{}',
      error: null,
      message_id: null,
      external_pass_id: externalId,
      external_folded: foldCase(externalId),
      erased_at: at.getTime(),
      link_generation: this.db.raw('link_generation + 1'),
    }
    await this.one(workspaceId, passId).update(withWalletVersionBump(this.db, change, at))
  }

  /** What waits is never sent, nor what a sender has read already: it reads anew where it finds another erasure. */
  private async endDeliveries(events: Knex.QueryBuilder, at: Date): Promise<void> {
    const webhookIds: string[] = await this.pendingOf(events).distinct('webhook_id').pluck('webhook_id')
    if (webhookIds.length === 0) return
    const webhooks = forUpdate(this.db, this.db('webhooks').whereIn('id', webhookIds).orderBy('id').select('id'))
    await this.db('webhooks')
      .whereRaw(idIsChosen(this.db, webhooks))
      .update({ erasures: this.db.raw('erasures + 1') })
    await this.pendingOf(events).update({
      status: 'FAILED',
      due_at: null,
      resume_at: null,
      is_redelivery: false,
      last_error: ENDED,
      updated_at: at.getTime(),
    })
  }

  /** SQLite leaves what is deleted from its search index standing there until parts are merged, unless it is told. */
  private async whileSearchForgets(work: () => Promise<void>): Promise<void> {
    const setSecure = (value: number) =>
      this.db.raw(`insert into pass_search (pass_search, rank) values ('secure-delete', ?)`, [value])
    if (isPostgres(this.db)) return work()
    await setSecure(1)
    await work()
    await setSecure(0)
  }

  private one(workspaceId: string, passId: string) {
    return this.db('passes').where({ workspace_id: workspaceId, id: passId })
  }

  private ofPass(table: string, workspaceId: string, passId: string) {
    return this.db(table).where({ workspace_id: workspaceId, pass_id: passId })
  }

  /** Events about the pass, and those about its scans: two queries, each along an index. */
  private events(workspaceId: string, passId: string): Knex.QueryBuilder[] {
    const ofWorkspace = () => this.db('events').where({ workspace_id: workspaceId })
    const scans = this.ofPass('scans', workspaceId, passId).select('id')
    return [ofWorkspace().where({ subject: passId }), ofWorkspace().whereIn('subject', scans)]
  }

  private pendingOf(events: Knex.QueryBuilder) {
    const status = this.db.raw(boundColumn(this.db, 'status'))
    const deliveries = this.db('delivery_keys').whereIn('event_id', events.clone().select('id')).select('id')
    return this.db('webhook_deliveries').whereIn('id', deliveries).whereRaw('? = ?', [status, 'PENDING'])
  }
}

async function countOf(query: Knex.QueryBuilder): Promise<number> {
  const row = await query.clone().count({ n: '*' }).first()
  return Number(row.n)
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
