import type { Webhook } from '../../core/contract/webhooks/webhooks.ts'
import { byId, type ListPage, type ListRequest, listPage } from '../db/list-query.ts'
import { runPrepared } from '../db/prepared.ts'
import { field, findRecord, listRecords, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'

/** A sealed secret from before a rotation, which is valid until a given time. */
export interface RetiredSecret {
  secret: string
  until: Date
}

const secretFields = {
  secret: field.text,
  /** The retired secrets, newest first. Each signs, in addition to the current secret, until it expires. */
  retiredSecrets: {
    read(text: string): RetiredSecret[] {
      const retired: { secret: string; until: number }[] = JSON.parse(text)
      return retired.map(({ secret, until }) => ({ secret, until: new Date(until) }))
    },
    write: (retired: RetiredSecret[]) =>
      JSON.stringify(retired.map(({ secret, until }) => ({ secret, until: until.getTime() }))),
  },
}

const SECRETS = mapping(secretFields)

const WEBHOOK = mapping({
  id: field.text,
  workspaceId: field.text,
  url: field.text,
  events: field.json<Webhook['events']>(),
  description: field.text,
  status: field.plain<Webhook['status']>(),
  disabledReason: field.optionalText,
  ...secretFields,
  /** The generation of deliveries. Deliveries of an older generation are never sent. */
  generation: field.number,
  /** The time of the first failure since the last success. */
  failingSince: field.optionalTime,
  /**
   * The number of erasures of pending deliveries. If the number increased since a sender read a delivery, the sender
   * reads the delivery again before sending.
   */
  erasures: field.number,
  createdAt: field.time,
  updatedAt: field.time,
})

/** An endpoint as it is stored, with encrypted secrets. */
export interface StoredWebhook extends RecordOf<typeof WEBHOOK> {}

type Row = RowOf<typeof WEBHOOK>

export interface WebhookToSend extends StoredWebhook {
  /** Whether deliveries of an older generation are pending. */
  hasStale: boolean
}

export type WebhookFields = Pick<Webhook, 'url' | 'events' | 'description'>

export type SealedSecrets = RecordOf<typeof SECRETS>

const HAS_STALE = `exists (select 1 from webhook_deliveries where webhook_deliveries.webhook_id = webhooks.id
  and webhook_deliveries.generation < webhooks.generation and webhook_deliveries.status = 'PENDING') as has_stale`

export class Webhooks extends Repository {
  /** @param id the ID for which the caller has encrypted the secret */
  async insert(
    workspaceId: string,
    id: string,
    fields: WebhookFields & { secret: string },
    at: Date,
  ): Promise<StoredWebhook> {
    const epoch = await this.nextEpoch(workspaceId)
    const [row] = await this.db('webhooks')
      .insert({
        ...fields,
        id,
        workspace_id: workspaceId,
        events: JSON.stringify(fields.events),
        subscribed_at: subscribedAt(fields.events, epoch),
        status: 'ENABLED',
        generation: 1,
        created_at: at.getTime(),
        updated_at: at.getTime(),
      })
      .returning('*')
    return WEBHOOK.read(row)
  }

  async find(workspaceId: string, id: string): Promise<StoredWebhook | undefined> {
    const [row] = await runPrepared<Row>(
      this.db,
      'find-webhook',
      { workspaceId, id },
      () => `select ${WEBHOOK.columns.join(', ')} from webhooks where workspace_id = :workspaceId and id = :id`,
    )
    return row && WEBHOOK.read(row)
  }

  /** Returns the ID of the oldest endpoint with the given URL. */
  async findIdByUrl(workspaceId: string, url: string): Promise<string | undefined> {
    const row: Pick<Row, 'id'> | undefined = await this.db('webhooks')
      .where({ workspace_id: workspaceId, url })
      .orderBy('id')
      .first('id')
    return row?.id
  }

  async findToSend(workspaceId: string, id: string): Promise<WebhookToSend | undefined> {
    const [row] = await runPrepared<Row & { has_stale: boolean | 0 | 1 }>(
      this.db,
      'find-webhook-to-send',
      { workspaceId, id },
      () =>
        `select ${WEBHOOK.columns.join(', ')}, ${HAS_STALE} from webhooks where workspace_id = :workspaceId and id = :id`,
    )
    return row && { ...WEBHOOK.read(row), hasStale: Boolean(row.has_stale) }
  }

  async findForUpdate(workspaceId: string, id: string): Promise<StoredWebhook | undefined> {
    return findRecord(this.one(workspaceId, id).forUpdate().select(WEBHOOK.columns), WEBHOOK.read)
  }

  list(workspaceId: string, request: ListRequest): Promise<ListPage<StoredWebhook>> {
    const ofWorkspace = this.db('webhooks').where('webhooks.workspace_id', workspaceId)
    return listPage(this.db, ofWorkspace, byId('webhooks'), request, WEBHOOK.read)
  }

  /** Returns `undefined` if the endpoint does not exist. Added event types are subscribed for later events only. */
  async update(
    workspaceId: string,
    id: string,
    { events, ...fields }: Partial<WebhookFields>,
    at: Date,
  ): Promise<StoredWebhook | undefined> {
    if (!events) return this.change(workspaceId, id, fields, at)
    const epoch = await this.nextEpoch(workspaceId)
    const row: { subscribed_at: string } | undefined = await this.one(workspaceId, id)
      .forUpdate()
      .first('subscribed_at')
    if (!row) return undefined
    const kept: Record<string, number> = JSON.parse(row.subscribed_at)
    const changes = { ...fields, events: JSON.stringify(events), subscribed_at: subscribedAt(events, epoch, kept) }
    return this.change(workspaceId, id, changes, at)
  }

  /** Returns false if the endpoint does not exist. */
  async delete(workspaceId: string, id: string): Promise<boolean> {
    return (await this.one(workspaceId, id).delete()) > 0
  }

  /** Enables an endpoint. Events that happened while it was disabled are not sent. */
  async setEnabled(workspaceId: string, id: string, at: Date): Promise<StoredWebhook | undefined> {
    const epoch = await this.nextEpoch(workspaceId)
    const webhook = await this.findForUpdate(workspaceId, id)
    if (!webhook) return undefined
    const enabled = { status: 'ENABLED', disabled_reason: null, failing_since: null }
    return this.change(workspaceId, id, { ...enabled, subscribed_at: subscribedAt(webhook.events, epoch) }, at)
  }

  /** Disables an endpoint. Its pending deliveries then belong to an older generation, so they are never sent. */
  setDisabled(workspaceId: string, id: string, reason: string, at: Date): Promise<StoredWebhook | undefined> {
    const generation = this.db.raw('generation + 1')
    return this.change(workspaceId, id, { status: 'DISABLED', disabled_reason: reason, generation }, at)
  }

  /** Sets the time since which every attempt has failed; null after a success. */
  async setFailingSince(workspaceId: string, id: string, since: Date | null): Promise<void> {
    await this.one(workspaceId, id).update({ failing_since: since?.getTime() ?? null })
  }

  /**
   * Sets the secrets of an endpoint that the caller has locked. The previous secret must be the first of the retired
   * secrets.
   */
  setSecrets(workspaceId: string, id: string, secrets: SealedSecrets, at: Date): Promise<StoredWebhook | undefined> {
    return this.change(workspaceId, id, SECRETS.write(secrets), at)
  }

  /** Returns the secrets of all workspaces, for a change of the server key. */
  async listSecrets(): Promise<{ id: string; secrets: SealedSecrets }[]> {
    const rows = this.db('webhooks').select('id', ...SECRETS.columns)
    return listRecords(rows, (row: Row) => ({ id: row.id, secrets: SECRETS.read(row) }))
  }

  /** Replaces secrets unless they were rotated in the meantime. */
  async replaceSecrets(id: string, { secret }: SealedSecrets, renewed: SealedSecrets): Promise<void> {
    await this.db('webhooks').where({ id, secret }).update(SECRETS.write(renewed))
  }

  /** Increments the epoch of subscriptions of the workspace. */
  private async nextEpoch(workspaceId: string): Promise<number> {
    const [row] = await this.db('workspaces')
      .where({ id: workspaceId })
      .update({ webhook_epoch: this.db.raw('webhook_epoch + 1') })
      .returning('webhook_epoch')
    return row.webhook_epoch
  }

  /** Changes an endpoint. Every change increases `updated_at`, so that a sender can detect the change. */
  private async change(workspaceId: string, id: string, changes: object, at: Date): Promise<StoredWebhook | undefined> {
    const moment = at.getTime()
    const updatedAt = this.db.raw('case when updated_at < :moment then :moment else updated_at + 1 end', { moment })
    const [row] = await this.one(workspaceId, id)
      .update({ ...changes, updated_at: updatedAt })
      .returning('*')
    return row && WEBHOOK.read(row)
  }

  private one(workspaceId: string, id: string) {
    return this.db('webhooks').where({ workspace_id: workspaceId, id })
  }
}

/** Returns the epoch of each subscription, by event type, as JSON. Existing subscriptions keep their epoch. */
function subscribedAt(events: readonly string[], epoch: number, before: Record<string, number> = {}): string {
  return JSON.stringify(Object.fromEntries(events.map((type) => [type, before[type] ?? epoch])))
}
