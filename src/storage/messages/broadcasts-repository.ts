import type { Knex } from 'knex'
import type { BroadcastStats, GoogleVia } from '../../core/contract/messages/broadcasts.ts'
import type { DeliveryState, MessageOptions } from '../../core/contract/messages/notifications.ts'
import { type PassFilter, parsePassFilter } from '../../core/contract/schemas/pass-filter.ts'
import { CAPPED_PLATFORM, type Platform } from '../../core/contract/schemas/platform.ts'
import { CAP_WINDOW_MS, deliveryStatus } from '../../core/rules/sending/notification.ts'
import type { WrittenText } from '../../core/rules/template/definition-languages.ts'
import { constant, deleteReturningIds, idsMadeAt, insertSelected, joinByKeys } from '../db/dialect.ts'
import { byId, type ListPage, listPage, NEWEST_FIRST, type PageRequest } from '../db/list-query.ts'
import { field, findRecord, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { countRows, Repository } from '../db/repository.ts'
import { countsOf } from '../operations/counters.ts'
import { createMatcher } from '../passes/list/pass-conditions.ts'
import { selectMatching } from '../passes/list/pass-list.ts'
import { findRange, matchingInRange, type PassRange, passesInRange } from '../passes/list/pass-walk.ts'
import { whereIssuedAt } from '../passes/pass-change.ts'
import { CAPPED_AT, firstStates, insertMessage, type NewMessage, toBody } from './notification-row.ts'

const BROADCAST = mapping({
  id: field.text,
  projectId: field.text,
  options: field.json<MessageOptions>(),
  platforms: field.json<Platform[]>(),
  googleVia: field.plain<GoogleVia | null>(),
  /** The filter as it was given; null if all issued passes are targets. */
  filter: field.nullable(field.json<PassFilter>()),
  sendAt: field.optionalTime,
  /** The time at which the fan-out started; null before that. Passes that are issued at this time are the targets. */
  startedAt: field.optionalTime,
  /** The ID of the last pass that the fan-out has processed. */
  position: field.optionalText,
  /** The number of notifications that the fan-out has created. */
  fannedOut: field.number,
  dispatchedAt: field.optionalTime,
  createdAt: field.time,
  updatedAt: field.time,
})

export interface StoredBroadcast extends RecordOf<typeof BROADCAST> {
  body: WrittenText
  googleVia: GoogleVia
}

interface Row extends RowOf<typeof BROADCAST> {
  body: string
  body_by_language: string | null
}

export interface NewBroadcast extends NewMessage {
  projectId: string
  googleVia?: GoogleVia
  filter?: PassFilter | undefined
}

export class Broadcasts extends Repository {
  /** Inserts a broadcast. Returns false if the idempotency key is in use, including by a concurrent request. */
  async insert(workspaceId: string, broadcast: NewBroadcast, at: Date): Promise<boolean> {
    const { projectId, platforms, googleVia = 'object', filter } = broadcast
    const columns = {
      project_id: projectId,
      platforms: JSON.stringify(platforms),
      google_via: googleVia,
      filter: filter === undefined ? null : JSON.stringify(filter),
      fanned_out: 0,
    }
    return insertMessage(this.db, workspaceId, broadcast, { table: 'broadcasts', columns, at })
  }

  async find(workspaceId: string, projectId: string, id: string): Promise<StoredBroadcast | undefined> {
    return findRecord(this.rows(workspaceId).where({ project_id: projectId, id }), toBroadcast)
  }

  async findByKey(workspaceId: string, idempotencyKey: string): Promise<StoredBroadcast | undefined> {
    return findRecord(this.rows(workspaceId).where({ idempotency_key: idempotencyKey }), toBroadcast)
  }

  /** Locks the broadcast against fan-out and cancellation until the transaction ends. */
  async findForUpdate(workspaceId: string, id: string): Promise<StoredBroadcast | undefined> {
    return findRecord(this.rows(workspaceId).where({ id }).forUpdate(), toBroadcast)
  }

  /** Returns a page of a project's broadcasts, newest first. */
  async list(workspaceId: string, projectId: string, request: PageRequest): Promise<ListPage<StoredBroadcast>> {
    const filtered = this.rows(workspaceId).where('broadcasts.project_id', projectId)
    const sorted = { ...request, ...NEWEST_FIRST, projectId }
    return listPage(this.db, filtered, byId('broadcasts'), sorted, toBroadcast)
  }

  async deleteScheduled(workspaceId: string, projectId: string, id: string, at: Date): Promise<boolean> {
    return (await deleteReturningIds(this.db, this.scheduled(workspaceId, projectId, at).where({ id }))).length > 0
  }

  deleteAllScheduled(workspaceId: string, projectId: string, at: Date): Promise<string[]> {
    return deleteReturningIds(this.db, this.scheduled(workspaceId, projectId, at))
  }

  /** Starts the fan-out to the passes that are issued at the time `at`. The caller has locked the broadcast. */
  async setStarted(workspaceId: string, id: string, at: Date): Promise<void> {
    const now = at.getTime()
    await this.rows(workspaceId).where({ id }).update({ started_at: now, updated_at: now })
  }

  /** Makes a broadcast send one Google message per pass, not per class. The caller has locked the broadcast. */
  async setByObject(workspaceId: string, id: string): Promise<void> {
    await this.rows(workspaceId).where({ id }).update({ google_via: 'object' })
  }

  /** Whether passes outside the project share templates, and so possibly Google classes, with its passes. */
  async sharesClasses(workspaceId: string, projectId: string): Promise<boolean> {
    const counted = () =>
      countsOf(this.db, workspaceId, 'passes')
        .groupBy('template_id')
        .having(this.db.raw('sum(n) > 0'))
        .select('template_id')
    const ours = counted().where({ project_id: projectId })
    return (await counted().whereNot({ project_id: projectId }).whereIn('template_id', ours).first()) !== undefined
  }

  /** Returns the next chunk of the fan-out. The caller has locked the broadcast. */
  findChunk(workspaceId: string, { projectId, position }: StoredBroadcast, passes: number): Promise<PassRange> {
    return findRange(this.db, workspaceId, { projectId }, position, passes)
  }

  /**
   * Creates notifications for the passes of the chunk that match the filter and were issued when the broadcast started.
   * Saves the progress. Returns the number of notifications. The caller has locked the broadcast.
   */
  async fanOut(workspaceId: string, broadcast: StoredBroadcast, chunk: PassRange, at: Date): Promise<number> {
    const { id, projectId, filter, platforms, startedAt } = broadcast
    const now = at.getTime()
    const states = Object.fromEntries(
      Object.entries(firstStates(platforms)).map(([name, state]) => [name, constant(this.db, 'text', state)]),
    )
    const columns = {
      id: idsMadeAt(this.db, at),
      workspace_id: 'passes.workspace_id',
      pass_id: 'passes.id',
      broadcast_id: constant(this.db, 'uuid', id),
      [CAPPED_AT]: constant(this.db, 'bigint', platforms.includes(CAPPED_PLATFORM) ? startedAt!.getTime() : null),
      device_count: constant(this.db, 'integer', 0),
      ...states,
      created_at: constant(this.db, 'bigint', now),
      updated_at: constant(this.db, 'bigint', now),
    }
    const matching = filter && (await createMatcher(this.db, workspaceId, parsePassFilter(filter), startedAt!))
    if (matching) await joinByKeys(this.db)
    const passes = matching
      ? matchingInRange(this.db, workspaceId, { projectId }, chunk, matching)
      : passesInRange(this.db, workspaceId, { projectId }, chunk)
    const made = await insertSelected(this.db, 'notifications', columns, whereIssuedAt(passes, startedAt!))
    await this.rows(workspaceId)
      .where({ id })
      .update({
        ...(chunk.upTo === null ? { dispatched_at: now } : { position: chunk.upTo }),
        fanned_out: this.db.raw('fanned_out + ?', [made]),
        updated_at: now,
      })
    if (chunk.upTo === null) this.emit({ what: 'broadcast' })
    return made
  }

  async countByStatus(
    workspaceId: string,
    id: string,
  ): Promise<Omit<BroadcastStats, 'broadcastId' | 'status' | 'classErrors'>> {
    const rows: { kind: string; n: number }[] = await countsOf(this.db, workspaceId, 'notifications')
      .where({ key: id })
      .groupBy('kind')
      .select('kind')
      .sum({ n: 'n' })
    const counts = { fannedOut: 0, pending: 0, sent: 0, partial: 0, failed: 0, skipped: 0 }
    for (const { kind, n } of rows) {
      counts.fannedOut += n
      const status = deliveryStatus(kind.split('/') as DeliveryState[])
      counts[status.toLowerCase() as Lowercase<typeof status>] += n
    }
    return counts
  }

  /** Returns the audience of a broadcast that will be sent at the time `at`, based on current data. */
  async forecast(
    workspaceId: string,
    projectId: string,
    { filter, at }: { filter: PassFilter | undefined; at: Date },
  ): Promise<Forecast> {
    const select = filter && (await selectMatching(this.db, workspaceId, { projectId }, parsePassFilter(filter), at))
    const passes = select ? select() : this.passesOf(workspaceId, projectId)
    return forecastBroadcast(this.db, whereIssuedAt(passes, at), { at, hasFilter: filter !== undefined })
  }

  async forecastClasses(workspaceId: string, projectId: string, at: Date): Promise<ClassForecast> {
    const installed = () =>
      this.passesOf(workspaceId, projectId)
        .join('google_objects', 'google_objects.pass_id', 'passes.id')
        .whereNotNull('installed_at')
    const meant = () => whereIssuedAt(installed(), at)
    // Count one message for each object whose class is unknown, because each such object gets a separate message.
    const messages: { n: number }[] = await meant()
      .groupBy('passes.google_identity_id')
      .select({ n: this.db.raw('count(distinct coalesce(class_suffix, cast(passes.id as text)))') })
    const inClasses = await countRows(installed().whereIn('class_suffix', meant().select('class_suffix')))
    const reached = await countRows(meant().whereNotNull('class_suffix'))
    return { messages: messages.map(({ n }) => n), others: inClasses - reached }
  }

  private rows(workspaceId: string) {
    const ofWorkspace = this.db('broadcasts').where('broadcasts.workspace_id', workspaceId)
    return this.inScope(ofWorkspace, 'broadcasts.project_id')
  }

  private scheduled(workspaceId: string, projectId: string, at: Date) {
    return this.rows(workspaceId).where({ project_id: projectId, started_at: null }).where('send_at', '>', at.getTime())
  }

  private passesOf(workspaceId: string, projectId: string) {
    return passesInRange(this.db, workspaceId, { projectId }, { after: null, upTo: null })
  }
}

function toBroadcast(row: Row): StoredBroadcast {
  return { ...BROADCAST.read(row), body: toBody(row), googleVia: row.google_via ?? 'object' }
}

export interface Forecast {
  passCount: number
  /** The number of targeted passes with a registered device. */
  apple: number
  /** The number of targeted passes installed at Google, for each identity. */
  google: number[]
  /** The number of targeted passes that are in no wallet. Counted only for a broadcast with a filter; otherwise 0. */
  neither: number
  /** The number of passes installed at Google that have reached Google's cap. */
  overCap: number
}

/** The number of messages and of unintended recipients of a broadcast to whole classes. */
export interface ClassForecast {
  /** The number of messages, for each identity. Each is to a class, or to an object whose class is unknown. */
  messages: number[]
  /**
   * The number of installed passes of the project that are not issued, but receive the message as members of a class.
   */
  others: number
}

async function forecastBroadcast(
  db: Knex,
  passes: Knex.QueryBuilder,
  { at, hasFilter }: { at: Date; hasFilter: boolean },
): Promise<Forecast> {
  const registered = db('apple_registrations').whereRaw('apple_registrations.pass_id = passes.id')
  const installed = db('google_objects').whereRaw('google_objects.pass_id = passes.id').whereNotNull('installed_at')
  // Run these slow queries sequentially. Otherwise, they could leave no connections for other reads.
  const passCount = await countRows(passes)
  const apple = await countRows(passes.clone().whereExists(registered))
  const google: { n: number }[] = await passes
    .clone()
    .whereExists(installed)
    .groupBy('passes.google_identity_id')
    .count({ n: '*' })
  const neither = hasFilter ? await countRows(passes.clone().whereNotExists(registered).whereNotExists(installed)) : 0
  const capped = await crowded(db, passes.clone().whereExists(installed), at).first()
  return {
    passCount,
    apple,
    google: google.map(({ n }) => n),
    neither,
    overCap: capped.n,
  }
}

/**
 * Returns a query that counts passes as `exceedsCap` does: those with three sends that would share a 24-hour window
 * with a send at `at`.
 */
function crowded(db: Knex, passes: Knex.QueryBuilder, at: Date): Knex.QueryBuilder {
  const t = at.getTime()
  const triples = passes
    .clone()
    .join('notifications', 'notifications.pass_id', 'passes.id')
    .where(CAPPED_AT, '>', t - CAP_WINDOW_MS)
    .where(CAPPED_AT, '<', t + CAP_WINDOW_MS)
    .select('notifications.pass_id', {
      last_at: CAPPED_AT,
      first_at: db.raw(`lag(${CAPPED_AT}, 2) over (partition by notifications.pass_id order by ${CAPPED_AT})`),
    })
  const last = 'case when last_at > :t then last_at else :t end'
  const first = 'case when first_at < :t then first_at else :t end'
  return db
    .from(triples.as('triples'))
    .whereNotNull('first_at')
    .whereRaw(`(${last}) - (${first}) < :window`, { t, window: CAP_WINDOW_MS })
    .countDistinct({ n: 'pass_id' })
}
