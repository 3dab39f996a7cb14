import type { Knex } from 'knex'
import type { Webhook } from '../core/contract/webhooks.ts'
import { forUpdate, runPrepared } from './dialect.ts'
import { type ListPage, type ListRequest, type ListSpec, listPage } from './list.ts'
import { moment } from './moment.ts'

/** An endpoint as it is kept: its secrets are encrypted. */
export interface StoredWebhook extends Webhook {
  workspaceId: string
  secret: string
  previousSecret: string | null
  previousSecretUntil: Date | null
  /** Deliveries of an older generation are never sent. */
  generation: number
  /** The first failure since the last success. */
  failingSince: Date | null
}

export type WebhookFields = Pick<Webhook, 'url' | 'events' | 'description'>

/** Secrets as they are stored. */
export interface SealedSecrets {
  secret: string
  previousSecret: string | null
}

interface Row {
  id: string
  workspace_id: string
  url: string
  events: string
  description: string
  status: Webhook['status']
  disabled_reason: string | null
  secret: string
  previous_secret: string | null
  previous_secret_until: number | null
  generation: number
  failing_since: number | null
  created_at: number
  updated_at: number
}

/** By name: of a statement that is kept, the columns must stay the same. */
const COLUMNS: (keyof Row)[] = [
  ...(['id', 'workspace_id', 'url', 'events', 'description', 'status', 'disabled_reason'] as const),
  ...(['secret', 'previous_secret', 'previous_secret_until', 'generation', 'failing_since'] as const),
  ...(['created_at', 'updated_at'] as const),
]

const SPEC: ListSpec = {
  name: 'webhooks',
  id: 'webhooks.id',
  // Ids ascend with the time of creation.
  sorts: { createdAt: { key: 'webhooks.id' } },
}

export class Webhooks {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /** @param id made by the caller: the secret is encrypted for it */
  async insert(
    workspaceId: string,
    id: string,
    fields: WebhookFields & { secret: string },
    at: Date,
  ): Promise<StoredWebhook> {
    const [row] = await this.db('webhooks')
      .insert({
        ...fields,
        id,
        workspace_id: workspaceId,
        events: JSON.stringify(fields.events),
        status: 'ENABLED',
        generation: 1,
        created_at: at.getTime(),
        updated_at: at.getTime(),
      })
      .returning('*')
    return toWebhook(row)
  }

  async find(workspaceId: string, id: string): Promise<StoredWebhook | undefined> {
    const [row] = await runPrepared<Row>(this.db, 'find-webhook', [workspaceId, id], () =>
      this.one('', '').select(COLUMNS),
    )
    return row && toWebhook(row)
  }

  /** As find, and nobody else changes the endpoint until the transaction ends. */
  async findForUpdate(workspaceId: string, id: string): Promise<StoredWebhook | undefined> {
    const row: Row | undefined = await forUpdate(this.db, this.one(workspaceId, id)).first()
    return row && toWebhook(row)
  }

  async list(workspaceId: string, request: ListRequest): Promise<ListPage<StoredWebhook>> {
    const page = await listPage<Row>(
      this.db,
      this.db('webhooks').where('webhooks.workspace_id', workspaceId),
      SPEC,
      request,
      (query) => query.select('webhooks.*'),
    )
    return { ...page, rows: page.rows.map(toWebhook) }
  }

  async update(
    workspaceId: string,
    id: string,
    { events, ...fields }: Partial<WebhookFields>,
    at: Date,
  ): Promise<StoredWebhook | undefined> {
    const changes = { ...fields, ...(events && { events: JSON.stringify(events) }) }
    return this.change(workspaceId, id, changes, at)
  }

  async delete(workspaceId: string, id: string): Promise<boolean> {
    return (await this.one(workspaceId, id).delete()) > 0
  }

  setEnabled(workspaceId: string, id: string, at: Date): Promise<StoredWebhook | undefined> {
    return this.change(workspaceId, id, { status: 'ENABLED', disabled_reason: null, failing_since: null }, at)
  }

  /** Whatever waits for the endpoint is of an old generation from now on. */
  setDisabled(workspaceId: string, id: string, reason: string, at: Date): Promise<StoredWebhook | undefined> {
    const generation = this.db.raw('generation + 1')
    return this.change(workspaceId, id, { status: 'DISABLED', disabled_reason: reason, generation }, at)
  }

  async setFailingSince(workspaceId: string, id: string, since: Date | null): Promise<void> {
    await this.one(workspaceId, id).update({ failing_since: since?.getTime() ?? null })
  }

  /** The secret so far signs beside the new one until the given moment. */
  setSecret(
    workspaceId: string,
    id: string,
    secret: string,
    { previousUntil, at }: { previousUntil: Date; at: Date },
  ): Promise<StoredWebhook | undefined> {
    const changes = {
      secret,
      previous_secret: this.db.ref('secret'),
      previous_secret_until: previousUntil.getTime(),
    }
    return this.change(workspaceId, id, changes, at)
  }

  /**
   * Makes the sender the only one that sends to the endpoint until the moment. False where another one is.
   */
  async hold(
    workspaceId: string,
    id: string,
    sender: string,
    { until, at }: { until: Date; at: Date },
  ): Promise<boolean> {
    const changed = await this.one(workspaceId, id)
      .where((free) => free.whereNull('sender').orWhere('sender', sender).orWhere('sender_until', '<=', at.getTime()))
      .update({ sender, sender_until: until.getTime() })
    return changed > 0
  }

  /** Goes on holding, and returns the endpoint as it now is; undefined where the hold was lost meanwhile. */
  async renewHold(workspaceId: string, id: string, sender: string, until: Date): Promise<StoredWebhook | undefined> {
    const bindings = [until.getTime(), workspaceId, id, sender]
    const [row] = await runPrepared<Row>(this.db, 'renew-webhook-hold', bindings, () =>
      this.one('', '').where({ sender: '' }).update({ sender_until: 0 }).returning(COLUMNS),
    )
    return row && toWebhook(row)
  }

  /** Undefined where nobody holds the endpoint. Nobody lets go of it until the transaction ends. */
  async findHoldEnd(workspaceId: string, id: string): Promise<Date | undefined> {
    const held = this.one(workspaceId, id)
    const row: { sender_until: number | null } | undefined = await forUpdate(this.db, held).first('sender_until')
    return row?.sender_until ? new Date(row.sender_until) : undefined
  }

  async releaseHold(workspaceId: string, id: string, sender: string): Promise<boolean> {
    return (await this.one(workspaceId, id).where({ sender }).update({ sender: null, sender_until: null })) > 0
  }

  /** Secrets of every workspace, for a server whose key has changed. */
  async listSecrets(): Promise<{ id: string; secrets: SealedSecrets }[]> {
    const rows: Row[] = await this.db('webhooks').select('id', 'secret', 'previous_secret')
    return rows.map((row) => ({ id: row.id, secrets: { secret: row.secret, previousSecret: row.previous_secret } }))
  }

  /** Unless they were rotated meanwhile. */
  async replaceSecrets(id: string, { secret }: SealedSecrets, renewed: SealedSecrets): Promise<void> {
    await this.db('webhooks')
      .where({ id, secret })
      .update({ secret: renewed.secret, previous_secret: renewed.previousSecret })
  }

  private async change(workspaceId: string, id: string, changes: object, at: Date): Promise<StoredWebhook | undefined> {
    const [row] = await this.one(workspaceId, id)
      .update({ ...changes, updated_at: at.getTime() })
      .returning('*')
    return row && toWebhook(row)
  }

  private one(workspaceId: string, id: string) {
    return this.db('webhooks').where({ workspace_id: workspaceId, id })
  }
}

function toWebhook(row: Row): StoredWebhook {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    url: row.url,
    events: JSON.parse(row.events),
    description: row.description,
    status: row.status,
    disabledReason: row.disabled_reason,
    secret: row.secret,
    previousSecret: row.previous_secret,
    previousSecretUntil: moment(row.previous_secret_until),
    generation: row.generation,
    failingSince: moment(row.failing_since),
    createdAt: new Date(row.created_at).toISOString(),
    updatedAt: new Date(row.updated_at).toISOString(),
  }
}
