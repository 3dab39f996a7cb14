import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import type { Knex } from 'knex'
import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { groupOf } from '../../../src/core/rules/pass/groups.ts'
import type { WrittenText } from '../../../src/core/rules/template/languages.ts'
import type { Database } from '../../../src/storage/db/database.ts'
import { isPostgres, PLACE_BEFORE_ALL } from '../../../src/storage/db/dialect.ts'
import { migrate, pendingMigrations } from '../../../src/storage/db/migrate.ts'
import type { PassListRequest } from '../../../src/storage/passes/pass-list.ts'
import { createStore } from '../../../src/storage/store.ts'
import { dialects, emptyDatabase } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import {
  acceptedScan,
  insertPasses,
  insertTemplate,
  insertWorkspace,
  newPass,
  openTestDatabase,
  start,
} from '../fixtures.ts'

/** Every file in the folder runs, in the order of their numbers. */
const all = readdirSync(join(import.meta.dirname, '../../../src/storage/migrations'))
  .map((name) => name.replace(/\.ts$/, ''))
  .sort()
const tables = ['settings', 'workspaces', 'tokens', 'projects', 'templates', 'passes', 'jobs', 'events']

describe.each(dialects)('on %s', (dialect) => {
  /** A database of today with a workspace and a template. */
  async function setUp() {
    const database = openTestDatabase(await emptyDatabase(dialect))
    await migrate(database)
    const store = createStore(database)
    const workspaceId = await insertWorkspace(store)
    const version = await insertTemplate(store, workspaceId)
    return { database, writer: database.writer, store, workspaceId, version }
  }

  test('migrating brings an empty database up to date, and a second time changes nothing', async () => {
    const database = openTestDatabase(await emptyDatabase(dialect))
    expect(await pendingMigrations(database)).toEqual(all)
    expect(await migrate(database)).toEqual(all)
    expect(await pendingMigrations(database)).toEqual([])
    expect(await migrate(database)).toEqual([])
    expect(await existing(database)).toEqual(tables)
  })

  test('of several servers that migrate at once one does the work and all go on', async () => {
    const url = await emptyDatabase(dialect)
    const servers = Array.from({ length: 4 }, () => openTestDatabase(url))
    const applied = await Promise.all(servers.map(migrate))
    expect(applied.filter((names) => names.length > 0)).toEqual([all])
    for (const server of servers) expect(await pendingMigrations(server)).toEqual([])
  })

  // PostgreSQL waits for the lock of migrations, without a limit.
  test.runIf(dialect === 'sqlite')('a server waits for as long as another migrates', async () => {
    const url = await emptyDatabase(dialect)
    const [first, second] = [openTestDatabase(url), openTestDatabase(url)]
    await second.writer.raw('PRAGMA busy_timeout = 20')
    const waiting = await first.writer.transaction(async (tx) => {
      const migrating = migrate(second)
      // Longer than the other would wait for a statement.
      await tx.raw(
        'with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000000) select count(*) from n',
      )
      return { migrating }
    })
    expect(await waiting.migrating).toEqual(all)
  })

  test('a migration that fails leaves nothing behind and works once its cause is gone', async () => {
    const database = openTestDatabase(await emptyDatabase(dialect))
    await database.writer.schema.createTable('events', (table) => table.text('in_the_way'))
    await expect(migrate(database)).rejects.toThrow(/already exists/)
    expect(await existing(database)).toEqual(['events'])
    await database.writer.schema.dropTable('events')
    expect(await migrate(database)).toEqual(all)
  })

  test('dates of scans and passes from before are known after it', async () => {
    const database = openTestDatabase(await emptyDatabase(dialect))
    const { writer } = database
    await migrate(database)
    const store = createStore(database)
    const workspaceId = await insertWorkspace(store)
    const version = await insertTemplate(store, workspaceId)
    const perPeriod = { unit: 'day', count: 1, timezone: 'Asia/Tokyo' } as const
    const expiresAt = new Date('2026-06-30T20:00:00Z')
    const passes = [
      newPass(version, { expiresAt }),
      newPass(version, { expiresAt, redemption: { perPeriod } }),
      newPass(version, { expiresAt: null, redemption: { perPeriod } }),
      newPass(version, { expiresAt, redemption: { windows: [{ start: '2026-06-30T20:00+09:00' }] } }),
    ]
    await insertPasses(store, workspaceId, passes)
    const scans = [null, '2026-05-01'].map((validateAsOf, n) =>
      acceptedScan(passes[0]!.id, { id: newId(start), externalRef: `scan ${n}`, validateAsOf }),
    )
    await store.transaction(async (tx) => {
      await tx.scans.insert(workspaceId, scans)
      const uses = scans.map(({ id, scannedAt, validateAsOf }) => ({
        scanId: id,
        passId: passes[0]!.id,
        projectId: null,
        templateId: version.templateId,
        scanContextKey: null,
        scannedAt,
        debitedWindow: null,
        validityDate: validateAsOf,
      }))
      await tx.acceptedScans.insert(workspaceId, uses)
    })
    const dates = async () => ({
      passes: await writer('passes')
        .whereIn(
          'id',
          passes.map(({ id }) => id),
        )
        .orderBy('id')
        .pluck('expiry_date'),
      scans: await writer('accepted_scans').orderBy('scan_id').pluck('validity_date'),
    })
    const known = { passes: ['2026-06-30', '2026-07-01', null, '2026-07-01'], scans: [null, '2026-05-01'] }
    expect(await dates()).toEqual(known)
    await undoScanDates(writer)
    expect(await migrate(database)).toEqual(['0022-scan-dates'])
    expect(await dates()).toEqual(known)
    await expect(writer('scans').update({ device_time: 1 })).rejects.toThrow('append-only')
  })

  test('templates from before have no key, and can be given one', async () => {
    const database = openTestDatabase(await emptyDatabase(dialect))
    await migrate(database)
    const { writer } = database
    const store = createStore(database)
    const workspaceId = await insertWorkspace(store)
    const { templateId } = await insertTemplate(store, workspaceId)
    await writer.raw('drop index templates_by_key')
    await writer.raw('alter table templates drop column "key"')
    await writer('migrations').where({ name: '0029-template-keys' }).delete()
    expect(await migrate(database)).toEqual(['0029-template-keys'])
    expect(await store.templates.find(workspaceId, templateId)).toMatchObject({ key: null })
    await store.transaction((tx) => tx.templates.update(workspaceId, templateId, { key: 'k' }, start))
    expect(await store.templates.find(workspaceId, templateId)).toMatchObject({ key: 'k' })
  })

  test('messages of before say the same in every language after it, and new ones may say it in each', async () => {
    const { database, writer, store, workspaceId, version } = await setUp()
    const [passId] = await insertPasses(store, workspaceId, [newPass(version)])
    const projectId = newId(start)
    const message = { options: {}, platforms: ['apple' as const], sendAt: null, idempotencyKey: null }
    const write = (id: string, body: WrittenText) =>
      store.transaction(async (tx) => {
        await tx.notifications.insert(workspaceId, { ...message, id, passId: passId!, body }, start)
        await tx.broadcasts.insert(workspaceId, { ...message, id, projectId, body }, start)
      })
    const read = async (id: string) => [
      (await store.notifications.find(workspaceId, passId!, id))?.body,
      (await store.broadcasts.find(workspaceId, projectId, id))?.body,
    ]
    const [before, after] = [newId(start), newId(start)]
    await write(before, 'Doors at 7')
    for (const table of ['notifications', 'broadcasts']) {
      await writer.raw(`alter table ${table} drop column body_by_language`)
    }
    await writer('migrations').where({ name: '0045-message-languages' }).delete()
    expect(await migrate(database)).toEqual(['0045-message-languages'])
    const body = { pt: 'Portas às 19h', en: 'Doors at 7' } as unknown as WrittenText
    await write(after, body)
    expect([await read(before), await read(after)]).toEqual([
      ['Doors at 7', 'Doors at 7'],
      [body, body],
    ])
    // What a program of before would send.
    expect(await writer('notifications').where({ id: after }).pluck('body')).toEqual(['Portas às 19h'])
  })

  test('of jobs of one kind and subject that ran beside each other one goes on after it, and the others run later', async () => {
    const database = openTestDatabase(await emptyDatabase(dialect))
    await migrate(database)
    const { writer } = database
    for (const index of ['jobs_running', 'jobs_waiting']) await writer.raw(`drop index ${index}`)
    await writer.raw('create index jobs_by_subject on jobs (subject, kind)')
    await writer('migrations').where({ name: '0028-one-at-a-time' }).delete()
    const store = createStore(database)
    const workspaceId = await insertWorkspace(store)
    const job = { workspaceId, kind: 'deliver-webhooks' as const, subject: newId(start), correlationId: null }
    await store.transaction((tx) => tx.jobs.insert([job, job, { ...job, subject: newId(start) }], start))
    await writer('jobs').update({ claim_token: newId(start) })
    expect(await migrate(database)).toEqual(['0028-one-at-a-time'])
    const waiting = await writer('jobs').whereNull('claim_token').pluck('subject')
    expect(waiting).toEqual([job.subject])
  })

  test('jobs that were quarantined after three lapses stay in quarantine, and others keep their count', async () => {
    const { database, writer, store, workspaceId } = await setUp()
    const job = () => ({ workspaceId, kind: 'update-wallet' as const, subject: newId(start), correlationId: null })
    await store.transaction((tx) => tx.jobs.insert([job(), job(), job()], start))
    const [quarantined, gaveUp, suspect]: string[] = await writer('jobs').orderBy('id').pluck('id')
    await writer('jobs').where({ id: quarantined }).update({ lapses: 3, failed_at: start.getTime() })
    await writer('jobs').where({ id: gaveUp }).update({ lapses: 2, failed_at: start.getTime() })
    await writer('jobs').where({ id: suspect }).update({ lapses: 2 })
    await writer('migrations').where({ name: '0075-lapses-alone' }).delete()

    expect(await migrate(database)).toEqual(['0075-lapses-alone'])
    const failed = await store.backlog.listFailed({}, 10)
    expect(new Map(failed.map(({ id, state }) => [id, state]))).toEqual(
      new Map([
        [quarantined, 'quarantined'],
        [gaveUp, 'failed'],
      ]),
    )
    expect(await writer('jobs').where({ id: suspect }).first('lapses')).toEqual({ lapses: 2 })
  })

  test('objects of before keep their ids at Google, and are known to stand in the class that versions shared', async () => {
    const { database, writer, store, workspaceId, version } = await setUp()
    const other = await insertTemplate(store, workspaceId)
    const passes = [newPass(version), newPass(other), newPass(version)]
    const ids = await insertPasses(store, workspaceId, passes)
    const offer = JSON.stringify({ ...other.definition, google: { kind: 'offer' } })
    await writer('template_versions').where({ id: other.id }).update({ definition: offer })
    await undoGoogleClasses(writer)
    const sent = { workspace_id: workspaceId, sent_version: 1, sent_at: start.getTime(), holders: 1, installed_at: 5 }
    await writer('google_objects').insert(ids.slice(0, 2).map((pass_id) => ({ ...sent, pass_id })))

    expect(await migrate(database)).toEqual(['0025-google-classes'])
    for (const [n, kind] of ['eventTicket', 'offer'].entries()) {
      const { templateId, id: templateVersionId } = [version, other][n]!
      const place = { objectSuffix: ids[n], kind, classSuffix: `template-${templateId}-${kind}`, templateVersionId }
      const [object] = await store.googleObjects.list(workspaceId, [ids[n]!])
      expect(object).toMatchObject({ objectSuffix: ids[n], sentVersion: 1, installedAt: new Date(5), sent: place })
    }
    // Callbacks name them as before.
    await store.transaction((tx) => tx.googleObjects.addHolders(ids[0]!, -1, start))
    const [left] = await store.googleObjects.list(workspaceId, [ids[0]!])
    expect(left?.installedAt).toBeNull()
    expect((await store.passes.find(workspaceId, ids[2]!))?.label).toBe(passes[2]!.label)
  })

  test('events from before come first, in the order of their ids, and the test of a webhook is not followed', async () => {
    const database = openTestDatabase(await emptyDatabase(dialect))
    await migrate(database)
    const { writer } = database
    const store = createStore(database)
    const workspaceId = await insertWorkspace(store)
    await writer.raw('drop index events_by_position')
    if (dialect === 'sqlite') await writer.raw('drop trigger events_in_order')
    await writer.raw('alter table events drop column position')
    await writer('migrations').where({ name: '0027-event-order' }).delete()
    const event = (type: string, id = newId(start)) => {
      const row = { id, workspace_id: workspaceId, type, subject: id, data: '{}', correlation_id: null }
      return { ...row, created_at: start.getTime() }
    }
    const [first, second, third] = [event('pass.voided'), event('pass.voided'), event('pass.voided')]
    await writer('events').insert([second, event('webhook.test'), first])
    expect(await migrate(database)).toEqual(['0027-event-order'])
    // As a server of the version before writes it.
    await writer('events').insert(third)
    // On PostgreSQL a reader waits for every transaction of the server that began before, those of other tests included.
    const read = () => store.eventLog.listAfter(workspaceId, PLACE_BEFORE_ALL, 10)
    const ids = async () => (await read()).map(({ id }) => id)
    await eventually(async () => expect(await ids()).toEqual([first.id, second.id, third.id]))
    const logged = await read()
    expect(await store.eventLog.findEnd(workspaceId)).toEqual(logged.at(-1)!.place)
  })

  test('passes from before are called by their ids in wallets, and may go to another holder', async () => {
    const { database, writer, store, workspaceId, version } = await setUp()
    const [id] = (await insertPasses(store, workspaceId, [newPass(version)])) as [string]
    const former = { workspace_id: workspaceId, pass_id: id, object_suffix: id, kind: 'offer', holders: 1 }
    await undoTakeOver(writer)
    await undoFormerHolders(writer)
    await writer('google_former_objects').insert({ ...former, template_version_id: version.id })
    const job = { workspaceId, kind: 'update-wallet' as const, subject: id, correlationId: null }
    await store.transaction((tx) => tx.jobs.insert([job], start))

    expect(await migrate(database)).toEqual(['0041-former-holders', '0072-take-over'])
    expect(await store.registrations.findPass(id, [null])).toMatchObject({ id, serialNumber: id })
    expect(await store.googleObjects.listFormer(workspaceId, id)).toMatchObject([{ objectSuffix: id }])
    const pass = (await store.passes.find(workspaceId, id))!
    await store.transaction((tx) => tx.formerPasses.insert(pass, start))
    expect(await store.formerPasses.findBySerialNumber(id, [null], start)).toMatchObject({ passId: id })
  })

  test('passes from before belong to no group, stand behind all groups, and can be put into one', async () => {
    const { database, writer, store, workspaceId, version } = await setUp()
    const [first, second] = (await insertPasses(store, workspaceId, [newPass(version), newPass(version)])) as string[]
    await undoGroups(writer)

    expect(await migrate(database)).toEqual(['0042-groups'])
    expect(await store.passes.find(workspaceId, first!)).toMatchObject({ group: null })
    const { id, key } = groupOf(workspaceId, null, 'order-1')
    await writer('passes').where({ id: second }).update({ group_id: id, group_key: key })
    const list = async (request: Partial<PassListRequest>) => {
      const sorted = { limit: 10, sortBy: 'groupKey', sortDir: 'asc' as const, ...request }
      const { rows, total } = await store.passes.list(workspaceId, sorted, start)
      return [rows.map((pass) => pass.id), total]
    }
    expect(await list({})).toEqual([[second, first], 2])
    expect(await list({ groupKey: [key] })).toEqual([[second], 1])
    expect(await store.groups.findLinkState(workspaceId, id)).toEqual({ generation: 0, areLinksClosed: false })
  })

  test('a migration that is killed leaves nothing behind', async () => {
    const url = await emptyDatabase(dialect)
    const script = join(import.meta.dirname, 'migrate-until-killed.ts')
    const killed = await execa('node', ['--import', 'tsx', script, url, 'pass_identifiers'], { reject: false })
    expect(killed.signal).toBe('SIGKILL')
    const database = openTestDatabase(url)
    expect(await existing(database)).toEqual([])
    expect(await migrate(database)).toEqual(all)
  })
})

/** The database as the migration found it. */
async function undoScanDates(db: Knex): Promise<void> {
  await db.raw(`drop trigger scans_no_device_time_update${isPostgres(db) ? ' on scans' : ''}`)
  for (const [table, column] of [
    ['passes', 'expiry_date'],
    ['accepted_scans', 'validity_date'],
    ['scans', 'device_time'],
  ] as const) {
    await db.raw(`alter table ${table} drop column ${column}`)
  }
  await db('migrations').where({ name: '0022-scan-dates' }).delete()
}

async function undoGoogleClasses(db: Knex): Promise<void> {
  for (const index of ['google_objects_by_suffix', 'passes_by_google_class']) await db.raw(`drop index ${index}`)
  for (const table of ['google_former_objects', 'google_classes']) await db.schema.dropTable(table)
  const columns = ['object_suffix', 'kind', 'class_suffix', 'template_version_id']
  for (const column of columns) await db.raw(`alter table google_objects drop column ${column}`)
  await db.raw('alter table passes drop column google_class_id')
  await db('migrations').where({ name: '0025-google-classes' }).delete()
}

async function undoTakeOver(db: Knex): Promise<void> {
  await db.raw('drop index passes_erased_imported')
  for (const column of ['scan_payload', 'import_digest']) await db.raw(`alter table passes drop column ${column}`)
  await db('migrations').where({ name: '0072-take-over' }).delete()
}

async function undoFormerHolders(db: Knex): Promise<void> {
  for (const table of ['former_registrations', 'former_passes']) await db.schema.dropTable(table)
  for (const column of ['is_transferred', 'expired_at']) {
    await db.raw(`alter table google_former_objects drop column ${column}`)
  }
  await db.raw('drop index passes_by_serial_number')
  await db.raw('alter table passes drop column serial_number')
  await db('migrations').where({ name: '0041-former-holders' }).delete()
}

async function undoGroups(db: Knex): Promise<void> {
  await db.schema.dropTable('group_links')
  for (const index of ['passes_by_group_key', 'passes_of_group']) await db.raw(`drop index ${index}`)
  const columns = isPostgres(db) ? ['group_key', 'group_id'] : ['group_sort', 'group_key', 'group_id']
  // What follows changes of passes goes with them.
  const drop = (column: string) => `alter table passes drop column ${column}${isPostgres(db) ? ' cascade' : ''}`
  for (const column of columns) await db.raw(drop(column))
  await db('migrations').where({ name: '0042-groups' }).delete()
}

async function existing({ writer }: Database): Promise<string[]> {
  const found = await Promise.all(tables.map((table) => writer.schema.hasTable(table)))
  return tables.filter((_, index) => found[index])
}
