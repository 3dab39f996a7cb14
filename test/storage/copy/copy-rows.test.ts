import sharp from 'sharp'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { copyDatabase } from '../../../src/storage/copy/copy-rows.ts'
import { notationFor, readRows, tablesOf } from '../../../src/storage/copy/rows.ts'
import { type Database, openDatabase } from '../../../src/storage/db/database.ts'
import { isPostgres, rowsOf } from '../../../src/storage/db/dialect.ts'
import { migrate } from '../../../src/storage/db/migrate.ts'
import { createStore } from '../../../src/storage/store.ts'
import { scan, scannable } from '../../server/api/scans/scan-support.ts'
import { makeProject, passBody, publishedTemplate } from '../../server/fixtures.ts'
import { type Api, type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects, migratedDatabase, type TestDialect } from '../../support/databases.ts'
import { isLong } from '../../support/long.ts'

/** Texts with characters that could break an encoding. */
const odd = [
  '"',
  '""',
  ',',
  '\\',
  '\\.',
  'a\nb',
  'a\r\nb',
  'a\tb',
  'null',
  '{}',
  "'",
  '日本語 🎟',
  '\u007f',
  '-1',
  '1e5',
  'true',
]

/** Paths of lists that together read all kinds of rows. */
const lists = [
  'passes?sortBy=label',
  'scans',
  'scans/stats',
  'templates',
  'projects',
  'webhooks',
  'workspace',
  'doors',
  'zones',
]

describe.each(dialects)('from %s', (dialect) => {
  const api = useApi(dialect)
  const other = dialect === 'sqlite' ? 'postgres' : 'sqlite'
  let workspace: TestWorkspace
  let stranger: TestWorkspace

  beforeAll(async () => {
    workspace = await fill(api)
    stranger = await api.workspace()
    await makeProject(stranger, 'Of another workspace')
  })

  test('a copy contains everything unchanged; the source rejects writes meanwhile, and allows reads', async () => {
    const target = await open(other)
    const order: (string | number)[] = []
    let write: Promise<unknown> | undefined
    let read: Promise<{ status: number }> | undefined
    const onProgress = ({ step }: { step: string }) => {
      // On a busy machine, the copy takes longer than a write waits.
      write ??= stranger
        .served(contract.projects.create, { body: { name: 'meanwhile' } })
        .then(({ status }) => order.push(status))
      read ??= workspace.send('GET', '/v1/passes')
      if (step === 'finish') order.push('finish')
    }
    const copied = await copyDatabase(api.database, target, { onProgress })
    expect((await read)?.status).toBe(200)
    await write
    expect(order).toEqual(['finish', 201])
    const rows = new Map(copied.map((table) => [table.name, table.rows]))
    for (const name of [
      'passes',
      'scans',
      'events',
      'webhook_deliveries',
      'counts',
      'pass_identifiers',
      'image_files',
      'balance_entries',
      'zone_movements',
      'zone_adjustments',
      'zone_resets',
      'join_pages',
      'join_identities',
    ]) {
      expect(rows.get(name), name).toBeGreaterThan(0)
    }

    const ask = askerOf(api, workspace, target)
    for (const list of lists) {
      const { status, body } = await workspace.send('GET', `/v1/${list}`)
      expect(status, list).toBe(200)
      expect(await ask('GET', `/v1/${list}`), list).toEqual(body)
    }
    const { items } = (await ask('GET', `/v1/passes?search=${encodeURIComponent('日本語')}`)) as {
      items: { id: string }[]
    }
    expect(items).toHaveLength(1)
    expect(await createStore(target).counts.listDifferences()).toEqual([])
    expect(await structureOf(target)).toEqual(await structureOf(await open(other)))

    const { id } = items[0]!
    expect(await ask('PATCH', `/v1/passes/${id}`, { label: 'renamed' })).toMatchObject({ id, label: 'renamed' })
    expect(await ask('GET', '/v1/passes?search=renamed')).toMatchObject({ total: 1 })
    expect(await createStore(target).counts.listDifferences()).toEqual([])
  })

  test('a copy that stopped at any point cannot be used, and the next run resumes it', async () => {
    const target = await open(other)
    for (const limit of isLong ? [1, 12, 25, 40, 60] : [1, 25, 60]) {
      let seen = 0
      const attempt = copyDatabase(api.database, target, {
        onProgress: () => {
          seen += 1
          if (seen === limit) throw new Error('ended')
        },
      })
      await expect(attempt).rejects.toThrow('ended')
      await expect(migrate(target)).rejects.toThrow('is not complete')
    }
    await copyDatabase(api.database, target)
    await expect(migrate(target)).resolves.toEqual([])
    expect(await contentOf(target)).toEqual(await contentOf(api.database, notationFor(target.writer)))
  })

  test('reports tables whose rows changed between two runs or differ in the copy', async () => {
    const target = await open(other)
    const stop = { onProgress: stopAt('check') }
    await expect(copyDatabase(api.database, target, stop)).rejects.toThrow('ended')
    await target.writer('templates').update({ description: 'altered' })
    await expect(copyDatabase(api.database, target)).rejects.toThrow('The rows of templates differ')
    await makeProject(workspace, 'made meanwhile')
    await api.database.writer('projects').where({ name: 'made meanwhile' }).update({ name: 'of another name' })
    await expect(copyDatabase(api.database, target)).rejects.toThrow('The rows of templates differ')
    await api.database.writer('templates').update({ description: 'changed' })
    await expect(copyDatabase(api.database, target)).rejects.toThrow('templates changed since the earlier run')
  })

  test('rejects a target database that contains data', async () => {
    const target = await open(other)
    await createStore(target).transaction((tx) => tx.workspaces.insert('default', new Date()))
    await expect(copyDatabase(api.database, target)).rejects.toThrow('contains data')
    await expect(migrate(target)).resolves.toEqual([])
  })
})

async function open(dialect: TestDialect): Promise<Database> {
  const database = openDatabase(await migratedDatabase(dialect))
  onTestFinished(() => database.close())
  return database
}

/** Creates a workspace with rows of every kind. */
async function fill(api: Api): Promise<TestWorkspace> {
  const workspace = await api.workspace()
  const { id: projectId } = await makeProject(workspace, `"Autumn", ${workspace.id}`)
  const png = await sharp({ create: { width: 90, height: 90, channels: 3, background: '#123456' } })
    .png()
    .toBuffer()
  await workspace.ok(contract.images.create, { body: png, contentType: 'image/png' })
  const balances = { points: { label: 'Points', kind: 'integer' as const } }
  const events = ['pass.scanned', 'pass.updated'] as ('pass.scanned' | 'pass.updated')[]
  await workspace.ok(contract.webhooks.create, { body: { url: 'https://hooks.example/', events } })
  const template = await publishedTemplate(workspace, { projectId, definition: scannable(undefined, { balances }) })
  const passes = odd.map((text, n) => {
    const variables = { code: `${text}${n}`, seat: text.slice(0, 10) }
    return passBody(template.id, { label: text, variables })
  })
  const { results } = await workspace.ok(contract.passes.createBatch, { body: { passes } })
  const ofPoints = { id: results[0]!.pass!.id, name: 'points' }
  const entry = { delta: 3, externalRef: odd[1]!, reason: odd[2]! }
  await workspace.ok(contract.balances.createEntry, { params: ofPoints, body: entry })
  await api.runJobs()
  for (const n of [0, 1, 1, 11]) await scan(workspace, { qrPayload: `${odd[n]}${n}`, context: { gate: odd[n]! } })
  await fillJoinPage(workspace, template.id, results[0]!.pass!.id)
  const zone = await workspace.ok(contract.zones.create, { body: { projectId, name: odd[0]!, capacity: 9 } })
  const params = { id: zone.id }
  await workspace.ok(contract.zones.reset, { params, body: { reason: odd[1]! } })
  await workspace.ok(contract.zones.adjust, { params, body: { delta: 3, reason: odd[2]!, externalRef: odd[3]! } })
  await scan(workspace, { qrPayload: `${odd[2]}2`, zoneId: zone.id })
  await workspace.ok(contract.broadcasts.create, { params: { id: projectId }, body: { body: 'Doors open' } })
  await api.runJobs()
  return workspace
}

/** Creates a join page, and the address of a pass. */
async function fillJoinPage(workspace: TestWorkspace, templateId: string, passId: string): Promise<void> {
  const text = 'ß "x" \n 😀'
  const settings = {
    title: text,
    intro: text,
    fields: [],
    labelFrom: [text],
    consent: { text, version: '1', required: true },
    source: true,
  }
  const page = { slug: workspace.id, settings, open: true, closesAt: workspace.api.now, passLimit: 9 }
  const address = { templateId, digest: passId, passId, variable: 'email', language: 'ar' }
  await workspace.api.services.store.transaction(async (tx) => {
    await tx.joinPages.set(workspace.id, templateId, page, workspace.api.now)
    await tx.joinIdentities.insert(workspace.id, address)
  })
}

/** Returns a function that sends requests to the same API on another database. */
function askerOf(api: Api, { token }: TestWorkspace, database: Database) {
  const app = api.createApp({ ...api.services, store: createStore(database) })
  return async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    return (await app.fetch(new Request(`https://passes.example${path}`, init))).json()
  }
}

/** Returns every copied row, sorted, because the databases return them in different orders. */
async function contentOf({ reader }: Database, notation = notationFor(reader)): Promise<Record<string, string[]>> {
  const content: Record<string, string[]> = {}
  for (const table of await tablesOf(reader)) {
    const { texts } = await readRows(reader, table, { notation, after: undefined, limit: 100_000 })
    content[table.name] = texts.sort()
  }
  return content
}

/** Returns indexes, triggers, keys, and the statistics of their values. */
async function structureOf({ reader }: Database): Promise<unknown> {
  const ask = async (sql: string) => rowsOf(reader, await reader.raw(sql))
  if (!isPostgres(reader)) {
    return [
      await ask('select type, name, tbl_name, sql from sqlite_schema order by type, name'),
      await ask('select tbl, idx, stat from sqlite_stat1 order by 1, 2, 3'),
    ]
  }
  return [
    await ask(`select indexname, indexdef from pg_indexes where schemaname = 'public' order by 1`),
    await ask(`select conname, pg_get_constraintdef(oid), convalidated from pg_constraint order by 1`),
    await ask('select tgname, tgenabled from pg_trigger where not tgisinternal order by 1'),
  ]
}

function stopAt(wanted: string) {
  return ({ step }: { step: string }) => {
    if (step === wanted) throw new Error('ended')
  }
}
