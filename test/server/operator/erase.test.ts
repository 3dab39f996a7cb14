import { readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { ScanItem } from '../../../src/core/contract/schemas/scan-shapes.ts'
import { erasePass } from '../../../src/server/operator/erase-pass.ts'
import type { Database } from '../../../src/storage/db/database.ts'
import { sentObject } from '../../storage/fixtures.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { startReceiver } from '../../support/receiver.ts'
import { definition, issuedPass } from '../fixtures.ts'

/** A text that appears in no other row in any case, and whose trigrams appear in no other name. */
const PLANTED = 'xq7zkvjw'
/** Random codes can contain any three letters, so only the columns with names are searched for the trigram. */
const TRIGRAM = PLANTED.slice(0, 3)
const SAID = `Ada ${PLANTED} Lovelace`

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect, { outbound: { allowInsecure: true } })

  /** Creates a pass that has data about its holder in every place that accepts some. */
  const plant = async (workspace: TestWorkspace) => {
    const content = definition()
    const design = { ...content.design, barcode: { format: 'qr' as const, message: '{{seat}}' } }
    const { id: projectId } = await workspace.ok(contract.projects.create, { body: { name: 'Fair' } })
    const balances = { points: { label: 'Points', kind: 'integer' as const } }
    const { id: zoneId } = await workspace.ok(contract.zones.create, { body: { projectId, name: 'Hall' } })
    const { id } = await issuedPass(workspace, {
      projectId,
      definition: { ...content, languages: { default: 'en' }, design, balances },
      externalPassId: SAID,
      label: SAID,
      variables: { seat: 'xq7zkvjw', own: { deep: [SAID] }, [PLANTED]: SAID },
    })
    const params = { id }
    await api.services.store.transaction((tx) => {
      const device = { passId: id, deviceId: 'phone', pushToken: 'push' }
      return tx.registrations.insert(workspace.id, device, api.now)
    })
    const joined = { join_slug: 'fair', join_source: SAID, consent_version: SAID, consented_at: 1 }
    await api.database.writer('passes').where({ id }).update(joined)
    const address = { templateId: projectId, digest: PLANTED, passId: id, variable: 'seat', language: 'en' }
    await api.services.store.transaction((tx) => tx.joinIdentities.insert(workspace.id, address))
    await workspace.ok(contract.passes.update, { params, body: { label: `${SAID}, once more` } })
    const message = { body: SAID, options: { google: { header: SAID } }, idempotencyKey: `key of ${PLANTED}` }
    await workspace.ok(contract.notifications.create, { params, body: message })
    const sendAt = '2027-01-01T00:00:00Z'
    await workspace.ok(contract.notifications.create, { params, body: { body: { en: SAID }, sendAt } })
    const context = { gate: SAID, lane: SAID, location: SAID, sessionId: SAID, note: SAID }
    const { scan } = await workspace.ok(contract.scans.create, { body: { qrPayload: PLANTED, context } })
    // The message of the second scan names the context of the first use.
    await workspace.ok(contract.scans.create, { body: { passId: id, context } })
    const reversal = { reason: SAID, context }
    await workspace.ok(contract.scans.reverse, { params: { id: scan.id }, body: reversal })
    // The message of the second entry names the gate of the first.
    const entries: string[] = []
    for (const _ of [1, 2]) {
      const { message } = await workspace.ok(contract.scans.create, { body: { passId: id, zoneId, context } })
      entries.push(message)
    }
    expect(entries[1]).toContain(PLANTED)
    const offline = { externalRef: `report ${id}`, passId: id, scannedAt: api.now.toISOString(), context }
    const report = { ...offline, result: 'denied' as const, reason: 'expired' as const }
    await workspace.ok(contract.scanner.report, { body: { scans: [report] } })
    const entry = { delta: 1, externalRef: 'order-1', reason: SAID }
    await workspace.ok(contract.balances.createEntry, { params: { id, name: 'points' }, body: entry })
    return id
  }
  /** Errors of platforms that quote the holder's data, wherever one is kept about a pass or its messages. */
  const plantErrors = async ({ id: workspaceId }: TestWorkspace, id: string) => {
    const db = api.database.writer
    await api.services.store.transaction(async (tx) => {
      await tx.googleObjects.setSent(workspaceId, id, { ...sentObject(id), version: 1 }, api.now)
      await tx.googleObjects.setError(workspaceId, id, SAID)
      const rejection = { platform: 'google', code: 'GOOGLE_API_FAILED', message: SAID, at: api.now } as const
      await tx.rejections.insert(workspaceId, 'pass', id, rejection)
    })
    await db('notifications').where({ pass_id: id }).update({ apple_error: SAID, google_error: SAID })
    const ofMessages = db('notifications').where({ pass_id: id }).select('id')
    const waiting = { workspaceId, kind: 'update-apple', subject: id, correlationId: null } as const
    await api.services.store.transaction((tx) => tx.jobs.insert([waiting], api.now))
    for (const some of [db('jobs').where({ subject: id }), db('jobs').whereIn('subject', ofMessages)])
      expect(await some.update({ last_error: SAID })).toBeGreaterThan(0)
  }
  const makeWebhook = (workspace: TestWorkspace, url: string) => {
    const events = ['pass.issued' as const, 'pass.updated' as const, 'pass.voided' as const, 'pass.scanned' as const]
    return workspace.ok(contract.webhooks.create, { body: { url, events } })
  }
  const erase = (workspace: TestWorkspace, id: string) =>
    erasePass({ store: api.services.store, database: api.database }, workspace.id, id, api.now)
  const ledger = async (workspace: TestWorkspace, passId: string) =>
    (await workspace.ok(contract.scans.list, { query: { passId: [passId] } })).items

  test.runIf(dialect === 'postgres')(
    'erasing takes turns with the delivery of a notification of the pass',
    async () => {
      const workspace = await api.workspace()
      const { id } = await issuedPass(workspace)
      const message = await workspace.ok(contract.notifications.create, { params: { id }, body: { body: SAID } })
      let erasing: Promise<unknown> | undefined
      await api.services.store.transaction(async (delivery) => {
        await delivery.notifications.lock(workspace.id, [message.id])
        erasing = erase(workspace, id)
        const waiting = api.database.reader('pg_stat_activity').where({ wait_event_type: 'Lock' })
        const ours = waiting.whereRaw('datname = current_database()')
        await eventually(async () => expect(await ours.clone()).toHaveLength(1))
        expect(await delivery.passes.lockIssued(workspace.id, [id], api.now)).toEqual(new Set([id]))
      })
      await erasing
      expect(await workspace.ok(contract.passes.get, { params: { id } })).toMatchObject({ label: 'Erased' })
    },
  )

  test('after an erasure no table and no byte of the file contains data of the holder', async () => {
    const workspace = await api.workspace()
    const receiver = await startReceiver()
    receiver.reply(500)
    const webhook = await makeWebhook(workspace, receiver.url)
    const id = await plant(workspace)
    await workspace.ok(contract.passes.void, { params: { id }, body: { reason: SAID } })
    await api.runJobs()
    await plantErrors(workspace, id)
    const stats = async () => {
      const { lastScanAt: _, ...figures } = (await workspace.ok(contract.scans.stats, {})) as Record<string, unknown>
      return figures
    }
    const before = { ledger: await ledger(workspace, id), stats: await stats() }
    if (dialect === 'postgres') {
      // PostgreSQL keeps the statistics of a table that became empty, so create another pass.
      await issuedPass(await api.workspace(), { variables: { seat: 'A-17' } })
      await api.database.writer.raw('analyze')
    }
    const planted = await tablesWith(api.database, PLANTED)
    expect(planted).toEqual(expect.arrayContaining(['events', 'notifications', 'pass_variables', 'passes', 'scans']))
    expect(planted).toEqual(expect.arrayContaining(['google_objects', 'jobs', 'rejections']))
    const indexed = async () => (await tablesWith(api.database, TRIGRAM)).filter((name) => /^pass_search/.test(name))
    expect(await indexed()).toEqual(dialect === 'sqlite' ? ['pass_search', 'pass_search_data'] : [])
    expect(receiver.received.length).toBeGreaterThan(0)

    const result = await erase(workspace, id)
    expect(result).toMatchObject({ id, voided: false, overwritten: true })
    expect(result.erased).toMatchObject({ variables: 3, notifications: 2, scans: 6 })
    expect(result.erased.events).toBeGreaterThanOrEqual(7)
    expect(await tablesWith(api.database, PLANTED)).toEqual([])
    // PostgreSQL keeps rows as long as an open transaction of another connection can see them.
    await eventually(async () => {
      if (dialect === 'postgres') await vacuum(api.database)
      expect(await filesWith(api.database, PLANTED)).toEqual([])
    })
    expect(await indexed()).toEqual([])

    expect(await stats()).toEqual(before.stats)
    expect((await ledger(workspace, id)).map(decision)).toEqual(before.ledger.map(decision))
    for (const { id: scanId } of before.ledger) await workspace.ok(contract.scans.get, { params: { id: scanId } })
    const pass = await workspace.ok(contract.passes.get, { params: { id } })
    expect(pass).toMatchObject({ status: 'VOID', label: 'Erased', externalPassId: `erased-${id}`, variables: {} })
    const notifications = await workspace.ok(contract.notifications.list, { params: { id } })
    expect(notifications.items.map(({ body, options }) => [body, options])).toEqual([
      ['', {}],
      ['', {}],
    ])
    const deliveries = await workspace.ok(contract.webhooks.listDeliveries, { params: { id: webhook.id } })
    for (const { id: deliveryId } of deliveries.items) {
      const { payload } = await workspace.ok(contract.deliveries.get, { params: { id: deliveryId } })
      expect(Object.keys(payload.data)).toEqual(['id'])
    }
    for (const search of [PLANTED, SAID]) {
      expect((await workspace.ok(contract.passes.list, { query: { search } })).total).toBe(0)
    }
    await workspace.ok(contract.passes.preview, { params: { id } })
    expect(await workspace.ok(contract.scans.create, { body: { passId: id } })).toMatchObject({ reasonCode: 'revoked' })
    expect((await workspace.ok(contract.scans.create, { body: { qrPayload: PLANTED } })).result).toBe('unknown')
  })

  test('erasing voids the pass, notifies its wallets, and cancels its pending deliveries', async () => {
    const workspace = await api.workspace()
    const receiver = await startReceiver()
    receiver.reply(500)
    await makeWebhook(workspace, receiver.url)
    const id = await plant(workspace)
    await api.runJobs()
    const sent = receiver.received.length
    expect(sent).toBeGreaterThan(0)
    await api.database.writer('jobs').where({ kind: 'update-apple' }).delete()
    const walletVersion = (await api.services.store.passes.find(workspace.id, id))!.walletVersion

    api.advance(1)
    const { voided, erased } = await erase(workspace, id)
    expect([voided, erased.pendingDeliveries > 0]).toEqual([true, true])
    expect((await api.services.store.passes.find(workspace.id, id))!.walletVersion).toBeGreaterThan(walletVersion)
    expect(await api.database.writer('jobs').where({ kind: 'update-apple', subject: id })).toHaveLength(1)
    await api.database.writer('jobs').where({ kind: 'update-apple' }).delete()
    receiver.reply(204)
    api.advance(3 * 24 * 3600)
    await api.runJobs()
    const after = receiver.received.slice(sent)
    expect(after.map(({ envelope }) => [envelope.type, envelope.data])).toEqual([
      ['pass.voided', { id, externalPassId: `erased-${id}`, reason: null }],
    ])
    const [entry] = await api.database.writer('audit_entries').where({ action: 'pass.erase', target_id: id })
    expect(entry).toMatchObject({ token_id: null, workspace_id: workspace.id, target_count: 1 })
  })

  test('erases a pass although another pass has the name of an erased pass', async () => {
    const workspace = await api.workspace()
    const id = await plant(workspace)
    const named = await issuedPass(workspace, { externalPassId: `erased-${id}` })
    await erase(workspace, id)
    const nameOf = async (one: string) =>
      (await workspace.ok(contract.passes.get, { params: { id: one } })).externalPassId
    expect(await nameOf(id)).toMatch(new RegExp(`^erased-${id}-[0-9a-f-]{36}$`))
    expect(await nameOf(named.id)).toBe(`erased-${id}`)
    expect(await tablesWith(api.database, PLANTED)).toEqual([])
  })

  test('erasing again removes data added since, and another workspace cannot erase the pass', async () => {
    const [workspace, stranger] = [await api.workspace(), await api.workspace()]
    const id = await plant(workspace)
    await expect(erase(stranger, id)).rejects.toThrow('Pass not found')
    expect((await workspace.ok(contract.passes.get, { params: { id } })).externalPassId).toBe(SAID)
    await erase(workspace, id)
    await workspace.ok(contract.scans.create, { body: { passId: id, context: { note: SAID } } })
    expect(await tablesWith(api.database, PLANTED)).not.toEqual([])
    expect(await erase(workspace, id)).toMatchObject({ voided: false })
    expect(await tablesWith(api.database, PLANTED)).toEqual([])
  })

  test('the ledger rejects every change other than an erasure', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const { scan } = await workspace.ok(contract.scans.create, { body: { passId: id, context: { note: 'x' } } })
    const gone = { external_pass_id: null, payload_digest: null, context: null, reversal_reason: null }
    const rows = () => api.database.writer('scans').where({ id: scan.id })
    for (const change of [
      { result: 'denied' },
      { ...gone, message: 'Erased.', result: 'denied' },
      { ...gone, message: 'Erased.', scanned_at: 1 },
      { ...gone, message: 'Other words.' },
      { ...gone, message: 'Erased.', external_pass_id: 'other' },
    ]) {
      await expect(rows().update(change)).rejects.toThrow('append-only')
    }
    await expect(rows().delete()).rejects.toThrow('append-only')
  })
})

/** Returns the fields of a scan that erasing keeps. */
function decision({ metadata, externalPassId: _, reversalReason: __, ...kept }: ScanItem) {
  return { ...kept, conflict: metadata.conflict, validateAsOf: metadata.validateAsOf }
}

/** Returns the tables with a column that contains the text in any case, including those of the search index. */
async function tablesWith({ dialect, writer }: Database, text: string): Promise<string[]> {
  const names: string[] =
    dialect === 'sqlite'
      ? await writer('sqlite_master').where({ type: 'table' }).pluck('name')
      : await writer('information_schema.tables').where({ table_schema: 'public' }).pluck('table_name')
  const found: string[] = []
  for (const name of names) {
    const rows: object[] = await writer(name)
    const values = rows.flatMap((row) => Object.values(row))
    const asText = values.map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : String(value)))
    if (asText.some((value) => value.toLowerCase().includes(text))) found.push(name)
  }
  return found.sort()
}

/** Runs the statements of docs/privacy.md, without which files of PostgreSQL keep the text. */
async function vacuum({ writer }: Database): Promise<void> {
  const [command] = /^psql .*$/m.exec(readFileSync('docs/privacy.md', 'utf8'))!
  for (const [, statement] of command.matchAll(/-c "(.*?)"/g)) await writer.raw(statement!)
}

/** Returns the files of the database that contain the text: those of SQLite, or of tables and indexes of PostgreSQL. */
async function filesWith({ dialect, writer, reader }: Database, text: string): Promise<string[]> {
  if (dialect === 'postgres') {
    await writer.raw('checkpoint')
    const { rows } = await writer.raw(
      `select relname from pg_class where relkind in ('r', 'i', 't') and pg_relation_filepath(oid) is not null
       and position(?::bytea in pg_read_binary_file(pg_relation_filepath(oid))) > 0 order by relname`,
      [Buffer.from(text)],
    )
    return rows.map(({ relname }: { relname: string }) => relname)
  }
  const { filename } = reader.client.config.connection
  const names = readdirSync(dirname(filename)).filter((name) => name.startsWith('passes.db'))
  return names.filter((name) =>
    readFileSync(`${dirname(filename)}/${name}`, 'latin1')
      .toLowerCase()
      .includes(text),
  )
}
