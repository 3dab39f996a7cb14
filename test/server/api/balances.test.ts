import pLimit from 'p-limit'
import { beforeAll, describe, expect, test } from 'vitest'
import { createRandom } from '../../../bench/support/random.ts'
import { balances } from '../../../src/core/contract/balances.ts'
import { passes } from '../../../src/core/contract/passes.ts'
import { projects } from '../../../src/core/contract/projects.ts'
import { scanner } from '../../../src/core/contract/scans/scanner.ts'
import { scans } from '../../../src/core/contract/scans/scans.ts'
import type { DefinitionInput } from '../../../src/core/contract/schemas/definition.ts'
import { openHandOver } from '../../../src/server/operator/hand-over.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { createStore } from '../../../src/storage/store.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { times } from '../../support/long.ts'
import { publishVersion } from '../fixtures.ts'
import { scan, scannable, scannablePass } from './scans/scan-support.ts'

const points = { label: 'Points', kind: 'integer' as const }
/** Each scan is accepted. */
const redemption = { maxUses: 100_000 }

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  let workspace: TestWorkspace

  beforeAll(async () => {
    workspace = await api.workspace()
  })

  function passWith(parts: Partial<DefinitionInput>) {
    return scannablePass(workspace, { redemption, parts })
  }

  const add = (id: string, delta: number, externalRef: string, name = 'points') =>
    workspace.ok(balances.createEntry, { params: { id, name }, body: { delta, externalRef } })
  const refusedEntry = (id: string, delta: number, externalRef: string, name = 'points') =>
    workspace.refused(balances.createEntry, { params: { id, name }, body: { delta, externalRef } })
  const valuesOf = async (id: string) => {
    const { items } = await workspace.ok(balances.list, { params: { id } })
    return Object.fromEntries(items.map(({ name, value }) => [name, value]))
  }

  test('adds entries within the bounds, each externalRef once, without a new revision', async () => {
    const { id } = await passWith({ balances: { points: { ...points, start: 5, max: 20 } } })
    const params = { id, name: 'points' }
    const before = await workspace.ok(passes.get, { params: { id } })
    const { createdAt } = before
    expect(await workspace.ok(balances.list, { params: { id } })).toEqual({
      items: [{ name: 'points', kind: 'integer', currency: null, value: 5, updatedAt: createdAt }],
    })
    const body = { delta: 10, externalRef: 'order-1', reason: 'Breakfast' }
    const first = await workspace.served(balances.createEntry, { params, body })
    expect(first.status).toBe(201)
    const { entry } = first.body as { entry: { id: string } }
    expect(entry).toMatchObject({ passId: id, ...params, id: entry.id, ...body, value: 15, scanId: null })
    const again = await workspace.served(balances.createEntry, { params, body: { ...body, delta: 3 } })
    expect([again.status, again.text]).toEqual([200, first.text])
    const twenty = Array.from({ length: 20 }, () => ({ params, body: { delta: -1, externalRef: 'at-once' } }))
    const same = await Promise.all(twenty.map((call) => workspace.served(balances.createEntry, call)))
    expect(same.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(new Set(same.map(({ text }) => text)).size).toBe(1)
    await add(id, 1, 'order-1b')
    expect(await refusedEntry(id, 6, 'order-2')).toMatchObject({
      status: 409,
      errorCode: 'CONFLICT',
      details: { value: 15, min: 0, max: 20, delta: 6 },
    })
    expect(await refusedEntry(id, -16, 'order-2')).toMatchObject({ details: { value: 15, min: 0, delta: -16 } })
    await add(id, -15, 'order-2')
    expect(await valuesOf(id)).toEqual({ points: 0 })
    const page = await workspace.ok(balances.listEntries, { params, query: { limit: 1 } })
    expect(page).toMatchObject({ total: 4, items: [{ delta: -15, value: 0, externalRef: 'order-2' }] })
    expect((await workspace.ok(passes.get, { params: { id } })).revision).toBe(before.revision)
    const etag = { 'if-match': `"${before.revision}"` }
    await workspace.ok(passes.update, { params: { id }, headers: etag, body: { label: 'Grace' } })
    const updates = (await workspace.events(id)).filter(({ type }) => type === 'pass.updated')
    expect(updates.map(({ data }) => (data as { changedFields: string[] }).changedFields)).toEqual([
      ...Array.from({ length: 4 }, () => ['balances']),
      ['label'],
    ])
  })

  test('rejects unknown passes, balances, and entries, void passes, and wrong deltas', async () => {
    const { id } = await passWith({ balances: { points } })
    const plain = await passWith({})
    expect(await workspace.ok(balances.list, { params: { id: plain.id } })).toEqual({ items: [] })
    expect((await refusedEntry(crypto.randomUUID(), 1, 'a')).errorCode).toBe('PASS_NOT_FOUND')
    for (const name of ['other', 'constructor', 'toString']) {
      expect((await refusedEntry(id, 1, 'a', name)).errorCode).toBe('NOT_FOUND')
      const params = { id, name }
      expect((await workspace.refused(balances.listEntries, { params, query: {} })).errorCode).toBe('NOT_FOUND')
    }
    expect((await refusedEntry(plain.id, 1, 'a')).errorCode).toBe('NOT_FOUND')
    for (const delta of [0, 0.5, 1e13]) expect((await refusedEntry(id, delta, 'a')).status).toBe(400)
    const params = { id, name: 'points', entryId: crypto.randomUUID() }
    expect((await workspace.refused(balances.reverseEntry, { params, body: {} })).errorCode).toBe('NOT_FOUND')
    const { entry } = await add(id, 1, 'a')
    await workspace.ok(passes.void, { params: { id }, body: {} })
    expect(await refusedEntry(id, 1, 'b')).toMatchObject({ status: 409, errorCode: 'PASS_ALREADY_VOIDED' })
    const reversal = { params: { ...params, entryId: entry.id }, body: {} }
    expect((await workspace.refused(balances.reverseEntry, reversal)).errorCode).toBe('PASS_ALREADY_VOIDED')
    // A repeated request has the same response as before.
    expect((await add(id, 1, 'a')).entry).toEqual(entry)
  })

  test('reverses an entry once, and only if the balance covers the reversal', async () => {
    const { id } = await passWith({ balances: { points } })
    const { entry } = await add(id, 10, 'a')
    const params = { id, name: 'points', entryId: entry.id }
    const spent = await add(id, -4, 'b')
    expect(await workspace.refused(balances.reverseEntry, { params, body: {} })).toMatchObject({
      errorCode: 'CONFLICT',
      details: { value: 6, min: 0, delta: -10 },
    })
    const body = { externalRef: 'back', reason: 'canceled' }
    const undo = { params: { ...params, entryId: spent.entry.id }, body }
    const reversal = await workspace.served(balances.reverseEntry, undo)
    expect(reversal.status).toBe(201)
    expect(reversal.body).toMatchObject({ entry: { delta: 4, value: 10, reversesEntryId: spent.entry.id, ...body } })
    expect((await workspace.served(balances.reverseEntry, undo)).status).toBe(200)
    expect((await workspace.refused(balances.reverseEntry, { ...undo, body: {} })).errorCode).toBe('CONFLICT')
    const both = await Promise.all([1, 2].map(() => workspace.served(balances.reverseEntry, { params, body: {} })))
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409])
    expect(await valuesOf(id)).toEqual({ points: 0 })
  })

  test('1,000 parallel entries of -1 on 500 over two servers: 500 succeed, and 0 are left', async () => {
    const { id } = await passWith({ balances: { points: { ...points, start: 500 } } })
    const other = openDatabase(api.databaseUrl)
    const servers = [api.app, api.createApp({ ...api.services, store: createStore(other) })]
    // A workspace can have 256 requests in flight.
    const inFlight = pLimit(200)
    const statuses = await inFlight.map(
      Array.from({ length: 1_000 }, (_, n) => n),
      async (n) => {
        const request = new Request(`https://passes.example/v1/passes/${id}/balances/points/entries`, {
          method: 'POST',
          headers: { authorization: `Bearer ${workspace.token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ delta: -1, externalRef: `spend-${n}` }),
        })
        return (await servers[n % 2]!.fetch(request)).status
      },
    )
    await other.close()
    expect(statuses.filter((status) => status === 201)).toHaveLength(500)
    expect(statuses.filter((status) => status === 409)).toHaveLength(500)
    expect(await valuesOf(id)).toEqual({ points: 0 })
    const { total, items } = await workspace.ok(balances.listEntries, {
      params: { id, name: 'points' },
      query: { limit: 100 },
    })
    expect(total).toBe(500)
    expect(items.map(({ value }) => value)).toEqual(Array.from({ length: 100 }, (_, n) => n))
  })

  test('lists an entry after the previous one, even if its request is earlier', async () => {
    const { id } = await passWith({ balances: { points } })
    await add(id, 5, 'first')
    const updatedAt = async () => (await workspace.ok(balances.list, { params: { id } })).items[0]!.updatedAt
    const before = await updatedAt()
    api.advance(-10)
    await add(id, 7, 'second')
    api.advance(10)
    const { items } = await workspace.ok(balances.listEntries, { params: { id, name: 'points' }, query: {} })
    expect(items.map(({ value }) => value)).toEqual([12, 5])
    expect((await updatedAt()) > before).toBe(true)
  })

  test('an accepted scan changes balances by the rules, and its reversal restores them', async () => {
    const { id, code } = await passWith({
      balances: { stamps: { ...points, max: 2 }, credit: { ...points, start: 25 }, visits: points },
      balanceRules: [
        { balance: 'stamps', delta: 1 },
        { balance: 'credit', delta: -10 },
      ],
    })
    const body = { qrPayload: code, externalRef: 'scan-1' }
    const first = await scan(workspace, body)
    expect(first).toMatchObject({
      result: 'accepted',
      balances: [
        { name: 'stamps', value: 1, delta: 1 },
        { name: 'credit', value: 15, delta: -10 },
        { name: 'visits', value: 0, delta: 0 },
      ],
    })
    expect(await scan(workspace, body)).toMatchObject({ idempotentReplay: true, balances: first.balances })
    await scan(workspace, { qrPayload: code })
    expect(await valuesOf(id)).toEqual({ stamps: 2, credit: 5, visits: 0 })
    const refused = await scan(workspace, { qrPayload: code })
    expect(refused).toMatchObject({
      result: 'denied',
      reasonCode: 'quota_exhausted',
      message: 'Balance too low',
      balances: [
        { name: 'stamps', value: 2, delta: 0 },
        { name: 'credit', value: 5, delta: 0 },
        { name: 'visits', value: 0, delta: 0 },
      ],
    })
    const explained = await workspace.ok(scans.explain, { params: { id }, query: {} })
    expect(explained).toMatchObject({ result: 'denied', reasonCode: 'quota_exhausted', message: 'Balance too low' })
    const reversal = await workspace.ok(scans.reverse, { params: { id: first.scan.id }, body: {} })
    expect(reversal.balances).toEqual([
      { name: 'stamps', value: 1, delta: -1 },
      { name: 'credit', value: 15, delta: 10 },
      { name: 'visits', value: 0, delta: 0 },
    ])
    expect((await workspace.refused(scans.reverse, { params: { id: first.scan.id }, body: {} })).status).toBe(409)
    const { items } = await workspace.ok(balances.listEntries, { params: { id, name: 'credit' }, query: {} })
    expect(items.map(({ delta, scanId }) => [delta, scanId])).toEqual([
      [10, reversal.scan.id],
      [-10, expect.any(String)],
      [-10, first.scan.id],
    ])
    // A full stamp card still admits its holder.
    await add(id, 100, 'topped-up', 'credit')
    await add(id, 1, 'by-hand', 'stamps')
    expect((await scan(workspace, { qrPayload: code })).balances?.[0]).toEqual({ name: 'stamps', value: 2, delta: 0 })
  })

  test('a scan cannot be reversed if the points that it added were spent', async () => {
    const { id, code } = await passWith({ balances: { points }, balanceRules: [{ balance: 'points', delta: 10 }] })
    const { scan: made } = await scan(workspace, { qrPayload: code })
    await add(id, -5, 'spent')
    const reversal = { params: { id: made.id }, body: {} }
    expect(await workspace.refused(scans.reverse, reversal)).toMatchObject({
      status: 409,
      details: { value: 5, min: 0, delta: -10 },
    })
    expect((await scan(workspace, { qrPayload: code })).pass?.acceptedScanCount).toBe(2)
    // An entry that was reversed by itself is not reversed again with its scan.
    const { items } = await workspace.ok(balances.listEntries, { params: { id, name: 'points' }, query: {} })
    await workspace.ok(balances.reverseEntry, { params: { id, name: 'points', entryId: items[0]!.id }, body: {} })
    await workspace.ok(scans.reverse, { params: { id: items[0]!.scanId! }, body: {} })
    expect(await valuesOf(id)).toEqual({ points: 5 })
  })

  test('an offline scan that the balance does not cover is stored as a conflict, and leaves the minimum', async () => {
    const { id, code } = await passWith({
      balances: { credit: { ...points, start: 15 } },
      balanceRules: [{ balance: 'credit', delta: -10 }],
    })
    const scannedAt = api.now.toISOString()
    const report = (externalRef: string, result: 'accepted' | 'denied' = 'accepted') => ({
      externalRef,
      qrPayload: code,
      scannedAt,
      result,
      reason: result === 'accepted' ? ('valid' as const) : ('quota_exhausted' as const),
    })
    const { results } = await workspace.ok(scanner.report, {
      body: { scans: [report('a'), report('b'), report('c'), report('d', 'denied')] },
    })
    expect(results.map(({ conflict }) => conflict)).toEqual([null, 'quota_exhausted', 'quota_exhausted', null])
    expect(await valuesOf(id)).toEqual({ credit: 0 })
    const { items } = await workspace.ok(balances.listEntries, { params: { id, name: 'credit' }, query: {} })
    expect(items.map(({ delta }) => delta)).toEqual([-5, -10])
  })

  test('door staff see the balances online, and a door list has what it needs to change them offline', async () => {
    const { id: projectId } = await workspace.ok(projects.create, { body: { name: 'Shop' } })
    const { code } = await scannablePass(workspace, {
      projectId,
      redemption,
      parts: {
        languages: { default: 'en', others: ['de'] },
        balances: {
          stamps: { label: { en: 'Stamps', de: 'Stempel' }, kind: 'integer', max: 10 },
          credit: { label: 'Credit', kind: 'currency', currency: 'EUR', start: 1_240, offlineAllowance: 500 },
        },
        balanceRules: [{ balance: 'stamps', delta: 3 }],
        door: { notice: { en: '{{balance.stamps}} stamps', de: '{{balance.stamps}} Stempel' } },
      },
    })
    const list = async (since?: string) =>
      workspace.ok(scanner.snapshot, { query: { projectId, ...(since && { since }) } })
    const before = await list()
    expect(before.items[0]?.balances).toEqual([
      { name: 'stamps', label: 'Stamps', currency: null, value: 0, min: 0, max: 10, delta: 3, offlineAllowance: 0 },
      {
        name: 'credit',
        label: 'Credit',
        currency: 'EUR',
        value: 1_240,
        min: 0,
        max: null,
        delta: 0,
        offlineAllowance: 500,
      },
    ])
    const { pass } = await scan(workspace, { qrPayload: code })
    expect(pass?.door).toEqual({
      fields: [
        { label: 'Stamps', value: '3 of 10' },
        { label: 'Credit', value: '€12.40' },
      ],
      notice: '3 stamps',
    })
    const inGerman = await workspace.call(scans.create, { body: { qrPayload: code } }, { 'accept-language': 'de' })
    const door = { fields: [{ label: 'Stempel', value: '6 von 10' }, {}], notice: '6 Stempel' }
    expect(inGerman.body).toMatchObject({ pass: { door } })
    await add(pass!.id, -240, 'lunch', 'credit')
    api.advance(30)
    const { items } = await list(before.id)
    expect(items[0]?.balances?.map(({ value }) => value)).toEqual([6, 1_000])
    expect(items[0]?.door).toEqual({ fields: [], notice: '6 stamps' })
  })

  const steps = times(120, 5_000)
  const title = 'balances equal those of a model after any entries, scans, reversals, and offline reports'
  test(title, { timeout: 60_000 + 100 * steps }, async () => {
    const { next: random } = createRandom(process.env.PASSES_BALANCE_SEED ?? `balances on ${dialect}`)
    const between = (min: number, max: number) => min + Math.floor(random() * (max - min + 1))
    const [start, min, max] = [30, 5, 60]
    const cards = await Promise.all(
      [4, -7, -7].map(async (delta) => {
        const bounds = { ...points, start, min, max }
        const made = await passWith({ balances: { points: bounds }, balanceRules: [{ balance: 'points', delta }] })
        return { ...made, delta, value: start, entries: [] as { id: string; delta: number }[] }
      }),
    )
    const scansOf = new Map<string, { card: (typeof cards)[number]; part: number }>()
    const partOf = ({ value }: (typeof cards)[number], delta: number) =>
      delta < 0 ? Math.max(delta, min - value) : Math.min(delta, max - value)
    let refs = 0
    for (let step = 0; step < steps; step += 1) {
      refs += 1
      const card = cards[between(0, cards.length - 1)]!
      const { id, delta } = card
      const action = between(0, 9)
      const [externalRef, params] = [`model-${refs}`, { id, name: 'points' }]
      if (action < 4) {
        const change = between(1, 25) * (random() < 0.5 ? -1 : 1)
        const answer = await workspace.served(balances.createEntry, { params, body: { delta: change, externalRef } })
        const isCovered = card.value + change >= min && card.value + change <= max
        expect(answer.status).toBe(isCovered ? 201 : 409)
        if (!isCovered) continue
        card.value += change
        card.entries.push({ id: (answer.body as { entry: { id: string } }).entry.id, delta: change })
      } else if (action < 6) {
        const { result, scan: made } = await scan(workspace, { qrPayload: card.code })
        const part = partOf(card, delta)
        expect(result).toBe(delta < 0 && part > delta ? 'denied' : 'accepted')
        if (result !== 'accepted') continue
        card.value += part
        scansOf.set(made.id, { card, part })
      } else if (action < 7) {
        const isAccepted = random() < 0.8
        const offline = { externalRef, passId: id, scannedAt: api.now.toISOString() }
        const decided = isAccepted
          ? ({ result: 'accepted', reason: 'valid' } as const)
          : ({ result: 'denied', reason: 'quota_exhausted' } as const)
        const body = { scans: [{ ...offline, ...decided }] }
        const { results } = await workspace.ok(scanner.report, { body })
        await workspace.ok(scanner.report, { body })
        if (!isAccepted) continue
        const part = partOf(card, delta)
        card.value += part
        scansOf.set(results[0]!.scan.id, { card, part })
      } else if (action < 8 && card.entries.length > 0) {
        const [entry] = card.entries.splice(between(0, card.entries.length - 1), 1)
        const reversal = { params: { ...params, entryId: entry!.id }, body: {} }
        const { status } = await workspace.served(balances.reverseEntry, reversal)
        const isCovered = card.value - entry!.delta >= min && card.value - entry!.delta <= max
        expect(status).toBe(isCovered ? 201 : 409)
        if (isCovered) card.value -= entry!.delta
      } else {
        const [scanId, made] = [...scansOf][between(0, scansOf.size - 1)] ?? []
        if (!scanId || !made) continue
        const { status } = await workspace.served(scans.reverse, { params: { id: scanId }, body: {} })
        const after = made.card.value - made.part
        const isCovered = made.part === 0 || (after >= min && after <= max)
        expect(status).toBe(isCovered ? 200 : 409)
        if (!isCovered) continue
        made.card.value = after
        scansOf.delete(scanId)
      }
      expect(await valuesOf(id)).toEqual({ points: card.value })
    }
    for (const { id, value } of cards) {
      const deltas: number[] = []
      const list = (query: object) => workspace.ok(balances.listEntries, { params: { id, name: 'points' }, query })
      for (let page = await list({ limit: 100 }); ; page = await list({ limit: 100, cursor: page.nextCursor })) {
        deltas.push(...page.items.map((entry) => entry.delta))
        if (page.nextCursor === null) break
      }
      expect(await valuesOf(id)).toEqual({ points: value })
      expect(start + deltas.reduce((sum, one) => sum + one, 0)).toBe(value)
    }
  })

  test('a hand-over has an entry for each changed balance of a valid pass', async () => {
    const own = await api.workspace()
    const parts = { balances: { points: { ...points, start: 5 }, stamps: points } }
    const made = await Promise.all([1, 2, 3].map(() => scannablePass(own, { redemption, parts })))
    const [kept, voided] = made
    for (const { id } of [kept!, voided!]) {
      const entry = { params: { id, name: 'points' }, body: { delta: 7, externalRef: 'a' } }
      await own.ok(balances.createEntry, entry)
    }
    await own.ok(passes.void, { params: { id: voided!.id }, body: {} })
    const options = { at: api.now, names: { platforms: [] }, signal: new AbortController().signal }
    const handedOver = await openHandOver(
      api.services.store,
      { workspace: own.id },
      { ...options, onProgress: () => undefined },
    )
    const rows: string[][] = []
    for await (const page of handedOver.balances) rows.push(...page)
    expect(rows).toEqual([
      ['externalPassId', 'balance', 'delta', 'externalRef', 'reason'],
      [kept!.externalPassId, 'points', '7', `handover-${kept!.id}`, 'Handed over'],
    ])
  })

  test('an upgrade keeps the entries, and applies the start of the new version', async () => {
    const { id, templateId, code } = await passWith({ balances: { points } })
    await add(id, 7, 'a')
    await publishVersion(workspace, templateId!, scannable(redemption))
    await workspace.ok(passes.update, { params: { id }, body: { templateVersion: 'latest' } })
    expect(await valuesOf(id)).toEqual({})
    expect('balances' in (await scan(workspace, { qrPayload: code }))).toBe(false)
    const again = scannable(redemption, { balances: { points: { ...points, start: 100 } } })
    await publishVersion(workspace, templateId!, again)
    await workspace.ok(passes.update, { params: { id }, body: { templateVersion: 'latest' } })
    expect(await valuesOf(id)).toEqual({ points: 107 })
  })
})
