import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { sweep } from '../../../src/server/background/maintenance.ts'
import type { RetentionDays } from '../../../src/server/config.ts'
import { insertRows } from '../../../src/storage/db/bulk-rows.ts'
import type { Target } from '../../../src/storage/webhooks/deliveries-repository.ts'
import type { StoredDelivery } from '../../../src/storage/webhooks/delivery-row.ts'
import { explainPostgres, explainSqlite, type Statement } from '../../storage/db/query-plans.ts'
import { insertPasses, insertTemplate, newPass } from '../../storage/fixtures.ts'
import { dialects } from '../../support/databases.ts'
import { openServices, type TestServices } from '../jobs/fixtures.ts'

const DAY = 24 * 3600
const MANY = 1_200

describe.each(dialects)('on %s', (dialect) => {
  test('deletes ended deliveries after the retention, with attempts and events, and keeps pending ones', async () => {
    const services = await openServices(dialect)
    const target = await insertWebhook(services)
    const ended = await insertDelivery(services, target, { isEnded: true })
    const pending = await insertDelivery(services, target, { isEnded: false })
    await insertLoneEvent(services)
    services.advance(30 * DAY - 1)
    await sweepWith(services, { deliveriesDays: 30, auditDays: 0 })
    expect(await ids(services, 'webhook_deliveries')).toEqual([ended.id, pending.id])
    expect(await ids(services, 'delivery_keys')).toEqual([ended.id, pending.id])
    expect(await ids(services, 'events')).toHaveLength(3)

    services.advance(2)
    const young = await insertDelivery(services, target, { isEnded: true })
    await sweepWith(services, { deliveriesDays: 30, auditDays: 0 })
    expect(await ids(services, 'webhook_deliveries')).toEqual([pending.id, young.id])
    expect(await ids(services, 'delivery_keys')).toEqual([pending.id, young.id])
    expect(await ids(services, 'events')).toEqual([pending.eventId, young.eventId])
    const attempts = await services.database.reader('webhook_attempts').pluck('delivery_id')
    expect(attempts).toEqual([young.id])
  })

  test('keeps a redelivered one for another retention period, with its event', async () => {
    const services = await openServices(dialect)
    const target = await insertWebhook(services)
    const { id, eventId } = await insertDelivery(services, target, { isEnded: true })
    services.advance(29 * DAY)
    const { store, workspaceId, clock } = services
    const again = await store.transaction((tx) => tx.deliveries.redeliver(workspaceId, id, target, clock()))
    await endDelivery(services, again!)
    services.advance(2 * DAY)
    await sweepWith(services, { deliveriesDays: 30, auditDays: 0 })
    expect([await ids(services, 'webhook_deliveries'), await ids(services, 'events')]).toEqual([[id], [eventId]])
  })

  test('a submission of a join page is deleted after 30 days, and frees the place that it held', async () => {
    const services = await openServices(dialect)
    const { store, workspaceId, clock } = services
    const join = { slug: 'card', source: null, consentVersion: null, consentedAt: null }
    const content = { recovers: false, label: 'Ada', variables: {}, join, identity: 'email', language: 'en' }
    const id = newId(clock())
    const { templateId } = await insertTemplate(store, workspaceId)
    const settings = { title: 'x', intro: '', fields: [], labelFrom: [], source: true }
    const consent = { text: 'x', version: '1', required: false }
    const page = { slug: 'card', settings: { ...settings, consent }, open: true, closesAt: null, passLimit: 1 }
    const submission = { id, templateId, externalPassId: 'join:card:x', content, holdsPlace: true, createdAt: clock() }
    await store.transaction(async (tx) => {
      await tx.joinPages.set(workspaceId, templateId, page, clock())
      await tx.joinPages.take(workspaceId, templateId)
      await tx.joinSubmissions.insert(workspaceId, submission)
      await tx.joinSubmissions.insert(workspaceId, {
        ...submission,
        id: newId(clock()),
        externalPassId: 'join:card:y',
        holdsPlace: false,
      })
    })
    const joined = async () => (await store.joinPages.find(workspaceId, templateId))?.joined
    services.advance(30 * DAY - 1)
    await sweepWith(services, { deliveriesDays: 0, auditDays: 0 })
    expect([(await ids(services, 'join_submissions')).length, await joined()]).toEqual([2, 1])
    services.advance(2)
    await sweepWith(services, { deliveriesDays: 0, auditDays: 0 })
    expect([await ids(services, 'join_submissions'), await joined()]).toEqual([[], 0])
  })

  test('the audit log is deleted after its days, and 0 keeps everything forever', async () => {
    const services = await openServices(dialect)
    await insertDelivery(services, await insertWebhook(services), { isEnded: true })
    await insertEntry(services)
    services.advance(10_000 * DAY)
    await sweepWith(services, { deliveriesDays: 0, auditDays: 0 })
    expect(await ids(services, 'audit_entries')).toHaveLength(1)
    expect(await ids(services, 'webhook_deliveries')).toHaveLength(1)
    await insertEntry(services)
    await sweepWith(services, { deliveriesDays: 0, auditDays: 365 })
    expect(await ids(services, 'audit_entries')).toHaveLength(1)
  })

  test('phones of an erased pass stay registered for 30 days, and those of others forever', async () => {
    const services = await openServices(dialect)
    const { store, workspaceId, version, database, clock } = services
    const [erased, other] = await insertPasses(store, workspaceId, [newPass(version), newPass(version)])
    for (const passId of [erased!, other!]) {
      const device = { passId, deviceId: 'phone', pushToken: 'push' }
      await store.transaction((tx) => tx.registrations.insert(workspaceId, device, clock()))
      await store.transaction((tx) => tx.heldPasses.settle(workspaceId, [passId]))
    }
    await store.transaction((tx) => tx.erasure.erase(workspaceId, erased!, Buffer.from('x'), clock()))
    const registered = () => database.reader('apple_registrations').orderBy('pass_id').pluck('pass_id')
    services.advance(29 * DAY)
    await sweep(services)
    expect(await registered()).toEqual([erased, other].sort())
    services.advance(2 * DAY)
    await sweep(services)
    expect(await registered()).toEqual([other])
    const told = await database.reader('events').select('type', 'subject')
    expect(told).toEqual([{ type: 'pass.removed', subject: erased }])
  })

  test('stores callbacks of Google for 30 days, in which Google repeats them', async () => {
    const services = await openServices(dialect)
    const { store, clock, database } = services
    const take = (nonce: string) => store.transaction((tx) => tx.googleObjects.takeCallback(nonce, clock()))
    await take('old')
    services.advance(2 * DAY)
    await take('young')
    services.advance(29 * DAY)
    await sweep(services)
    expect(await database.reader('google_callbacks').pluck('nonce')).toEqual(['young'])
    expect(await take('young')).toBe(false)
  })

  test('due work is done in chunks, also by two servers, and a server that stops leaves the rest', async () => {
    const services = await openServices(dialect)
    await insertEntries(services)
    services.advance(366 * DAY)
    const stopping = new AbortController()
    stopping.abort()
    await sweep({ ...services, stopping: stopping.signal })
    expect(await ids(services, 'audit_entries')).toHaveLength(MANY)
    await Promise.all([sweep(services), sweep(services)])
    expect(await ids(services, 'audit_entries')).toEqual([])
  })

  test('a chunk starts after the last row of the previous one, and skips no row twice', async () => {
    const services = await openServices(dialect)
    await insertEntries(services)
    services.advance(366 * DAY)
    const known = new Set<unknown>(await ids(services, 'audit_entries'))
    const begins: unknown[] = []
    services.database.writer.on('query', ({ sql, bindings }: Statement) => {
      if (/^delete from "?`?audit_entries/.test(sql)) begins.push(bindings.find((value) => known.has(value)))
    })
    await sweep(services)
    expect(begins.length).toBeGreaterThan(1)
    expect(begins[0]).toBeUndefined()
    const behind = begins.slice(1)
    expect(new Set(behind).size, 'each begins at another row').toBe(behind.length)
    expect(behind).toEqual(behind.toSorted())
    expect(behind).not.toContain(undefined)
  })

  test('finds chunks by the index of IDs, and log entries by the index of each filter', async () => {
    const services = await openServices(dialect)
    const { database, store, clock, workspaceId } = services
    await insertEntries(services)
    const target = await insertWebhook(services)
    await store.transaction(async (tx) => {
      const event = {
        type: 'webhook.test',
        subject: target.id,
        data: { webhookId: target.id },
        correlationId: null,
      } as const
      for (let n = 0; n < 200; n += 1) await tx.events.insertFor(workspaceId, target, event, clock())
    })
    if (dialect === 'postgres') await database.writer.raw('vacuum analyze')
    services.advance(366 * DAY)
    const statements: Statement[] = []
    for (const connection of new Set([database.reader, database.writer])) {
      connection.on('query', ({ sql, bindings }: Statement) => statements.push({ sql, bindings }))
    }
    await store.transaction((tx) => tx.retention.deleteDeliveries(clock(), 5))
    await store.transaction((tx) => tx.retention.deleteEvents(clock(), 5))
    await store.transaction((tx) => tx.retention.deleteByIds('audit_entries', clock(), 5))
    await store.transaction((tx) => tx.retention.deleteErasedRegistrations(clock(), 5))
    await store.transaction((tx) => tx.googleObjects.deleteCallbacks(clock(), 5))
    await store.transaction((tx) => tx.registrations.deleteByTokens(['dead'], null))
    const filters = [
      {},
      { workspaceId },
      { tokenIds: [workspaceId] },
      { tokenIds: [null] },
      { actions: ['pass.void' as const] },
      { targetId: workspaceId },
      { workspaceId, passId: workspaceId },
      { since: clock() },
    ]
    for (const filter of filters) await store.auditLog.list({ ...filter, limit: 20 })
    const asked = statements.filter(({ sql }) => /^(select|delete)/i.test(sql) && !/ count\(/.test(sql))
    expect(asked.length).toBeGreaterThanOrEqual(6 + filters.length)
    const texts: string[] = []
    for (const statement of asked) {
      const plan = await (dialect === 'sqlite'
        ? explainSqlite(database.reader, statement)
        : explainPostgres(database.writer, statement))
      if (dialect === 'postgres') {
        // The tables are small here. The plans must neither sort nor read many rows.
        expect(plan.sorted, plan.text).toBeLessThan(50)
        continue
      }
      expect(plan.fullScans, plan.text).toEqual([])
      texts.push(plan.text)
    }
    const indexes = ['workspace_id_id_index', 'token_id_id_index', 'action_id_index', 'by_target', 'by_pass']
    for (const index of dialect === 'sqlite' ? indexes : []) {
      expect(texts.join('\n')).toContain(`USING COVERING INDEX audit_entries_${index}`)
    }
  })
})

function sweepWith(services: TestServices, retention: RetentionDays): Promise<void> {
  return sweep({ ...services, retention })
}

function ids({ database }: TestServices, table: string): Promise<string[]> {
  return database.reader(table).orderBy('id').pluck('id')
}

async function insertWebhook({ store, workspaceId, clock }: TestServices): Promise<Target> {
  const endpoint = { url: 'https://x.example', events: [], description: '', secret: 's' }
  return store.transaction((tx) =>
    tx.webhooks.insert(workspaceId, '0b5f2c3e-2222-8222-8333-444455556666', endpoint, clock()),
  )
}

async function insertDelivery(services: TestServices, target: Target, { isEnded }: { isEnded: boolean }) {
  const { store, workspaceId, clock } = services
  const data = { webhookId: target.id }
  const event = { type: 'webhook.test', subject: target.id, data, correlationId: null } as const
  const delivery = await store.transaction((tx) => tx.events.insertFor(workspaceId, target, event, clock()))
  if (isEnded) await endDelivery(services, delivery)
  return delivery
}

function endDelivery({ store, workspaceId, clock }: TestServices, delivery: StoredDelivery): Promise<void> {
  const due = { id: delivery.id, progress: delivery }
  const outcome = { responseCode: 200, error: null }
  const attempt = { delivery: due, outcome, startedAt: clock(), at: clock(), durationMs: 1, jitter: 0 }
  return store.transaction((tx) => tx.deliveries.record(workspaceId, [attempt], clock()))
}

function insertLoneEvent({ store, workspaceId, clock }: TestServices): Promise<void> {
  const data = { id: workspaceId, externalPassId: 'x', reason: null }
  const event = { type: 'pass.voided', subject: workspaceId, data, correlationId: null } as const
  return store.transaction((tx) => tx.events.insert(workspaceId, [event], clock()))
}

const entry = { action: 'pass.void', actor: { tokenId: null, name: 'x' }, targetId: null, correlationId: null } as const

function insertEntry({ store, workspaceId, clock }: TestServices): Promise<void> {
  return store.transaction((tx) => tx.auditLog.insert(workspaceId, entry, clock()))
}

async function insertEntries(services: TestServices): Promise<void> {
  await insertEntry(services)
  const { writer } = services.database
  const row = await writer('audit_entries').first()
  const copies = Array.from({ length: MANY - 1 }, () => ({ ...row, id: newId(services.clock()) }))
  await writer.transaction((tx) => insertRows(tx, 'audit_entries', copies))
}
