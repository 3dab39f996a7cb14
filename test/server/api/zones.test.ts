import { describe, expect, test } from 'vitest'
import { passes } from '../../../src/core/contract/passes.ts'
import { projects } from '../../../src/core/contract/projects.ts'
import { doors } from '../../../src/core/contract/scans/doors.ts'
import { scanner } from '../../../src/core/contract/scans/scanner.ts'
import { scans } from '../../../src/core/contract/scans/scans.ts'
import { zones } from '../../../src/core/contract/scans/zones.ts'
import { TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { scan, scannablePass } from './scans/scan-support.ts'

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)

  async function zoneOf(workspace: TestWorkspace, fields: { capacity?: number; whenFull?: 'warn' | 'deny' } = {}) {
    const project = await workspace.ok(projects.create, { body: { name: 'Fair' } })
    const zone = await workspace.ok(zones.create, { body: { projectId: project.id, name: 'Hall', ...fields } })
    return { zoneId: zone.id, projectId: project.id }
  }

  test('counts entries and exits, and lets a pass enter again without a use', async () => {
    const workspace = await api.workspace()
    const { zoneId, projectId } = await zoneOf(workspace)
    const { id, code } = await scannablePass(workspace, { projectId, redemption: { maxUses: 1 } })
    const at = (direction: 'in' | 'out', gate = 'North') =>
      scan(workspace, { qrPayload: code, zoneId, direction, context: { gate } })
    expect(await at('out')).toMatchObject({ result: 'denied', reasonCode: 'not_valid_context', message: 'Not inside.' })
    const entry = await at('in')
    expect(entry).toMatchObject({
      result: 'accepted',
      scan: { zoneId, direction: 'in' },
      zone: { id: zoneId, name: 'Hall', inside: 1, capacity: null },
    })
    const again = await at('in')
    expect(again).toMatchObject({ result: 'duplicate', reasonCode: 'already_scanned', zone: { inside: 1 } })
    expect(again.message).toMatch(/^Already inside since .*, North\.$/)
    expect(await at('out')).toMatchObject({ result: 'accepted', reasonCode: 'valid', zone: { inside: 0 } })
    const reentry = await at('in')
    expect(reentry).toMatchObject({ result: 'accepted', message: 'Valid. Re-entry.', zone: { inside: 1 } })
    expect(reentry.pass).toMatchObject({ id, acceptedScanCount: 1 })
    await workspace.ok(scans.reverse, { params: { id: reentry.scan.id } })
    expect(await workspace.ok(zones.get, { params: { id: zoneId } })).toMatchObject({ inside: 0 })
  })

  test('counts exits separately from the people admitted at a gate, in counters and along the index', async () => {
    const workspace = await api.workspace()
    const { zoneId, projectId } = await zoneOf(workspace)
    const { id: passId } = await scannablePass(workspace, { projectId })
    const at = (direction: 'in' | 'out', gate: string) => {
      api.advance(1)
      return scan(workspace, { passId, zoneId, direction, context: { gate } })
    }
    await at('out', 'North')
    await at('in', 'North')
    await at('out', 'South')
    await at('in', 'North')
    const exit = await at('out', 'North')
    await workspace.ok(scans.reverse, { params: { id: exit.scan.id }, body: { context: { gate: 'North' } } })
    const north = { gate: 'North', totalScans: 4, totalDenied: 1, reversed: 1 }
    const items = [north, { gate: 'South', totalScans: 1, totalDenied: 0, reversed: 0, exits: 1 }]
    const byGate = (query: object) => workspace.ok(scans.stats, { query: { groupBy: 'gate', ...query } as never })
    expect(await byGate({})).toEqual({ items })
    api.advance(1)
    const from = api.now.toISOString()
    await scan(workspace, { qrPayload: 'unknown' })
    await at('out', 'East')
    expect(await byGate({ from })).toMatchObject({
      items: [
        { gate: null, totalScans: 1, totalDenied: 1 },
        { gate: 'East', totalScans: 1, totalDenied: 0, exits: 1 },
      ],
    })
  })

  test('rejects an unknown zone and a zone of another project with 404, and records nothing', async () => {
    const workspace = await api.workspace()
    const { zoneId, projectId } = await zoneOf(workspace)
    const other = await zoneOf(workspace)
    const { id: passId } = await scannablePass(workspace, { projectId })
    const scannedAt = api.now.toISOString()
    const report = { externalRef: 'r', passId, scannedAt, result: 'accepted', reason: 'valid' } as const
    for (const wrong of [other.zoneId, crypto.randomUUID()]) {
      const { status } = await workspace.call(scans.create, { body: { passId, zoneId: wrong } })
      expect(status).toBe(404)
      expect((await workspace.call(scans.create, { body: { passId, projectId, zoneId: wrong } })).status).toBe(404)
      const some = [
        { ...report, zoneId },
        { ...report, externalRef: 's', zoneId: wrong },
      ]
      expect(await workspace.refused(scanner.report, { body: { scans: some } })).toMatchObject({
        status: 404,
        errorCode: 'NOT_FOUND',
        details: { zoneId: wrong },
      })
    }
    expect((await workspace.call(scans.create, { body: { passId, direction: 'in' } })).status).toBe(400)
    expect((await workspace.ok(scans.list, {})).total).toBe(0)
    // A device can report scans of a zone that was deleted after they were made.
    await scan(workspace, { passId, zoneId })
    await workspace.ok(zones.delete, { params: { id: zoneId } })
    expect((await workspace.call(scans.create, { body: { passId, zoneId } })).status).toBe(404)
    const { results } = await workspace.ok(scanner.report, {
      body: { scans: [{ ...report, zoneId, direction: 'out' }] },
    })
    expect(results[0]!.scan).toMatchObject({ zoneId, direction: 'out' })
  })

  test('a void or expired pass inside leaves, and does not enter again', async () => {
    const workspace = await api.workspace()
    const { zoneId, projectId } = await zoneOf(workspace)
    const until = new Date(api.now.getTime() + 3_600_000).toISOString()
    const [voided, expired] = [
      await scannablePass(workspace, { projectId }),
      await scannablePass(workspace, { projectId, until }),
    ]
    for (const { id: passId } of [voided, expired]) await scan(workspace, { passId, zoneId })
    await workspace.ok(passes.void, { params: { id: voided.id } })
    api.advance(7_200)
    expect((await workspace.ok(zones.get, { params: { id: zoneId } })).inside).toBe(2)
    for (const [{ id: passId }, reasonCode] of [
      [voided, 'revoked'],
      [expired, 'expired'],
    ] as const) {
      expect(await scan(workspace, { passId, zoneId, direction: 'out' })).toMatchObject({ result: 'accepted' })
      expect(await scan(workspace, { passId, zoneId })).toMatchObject({ result: 'denied', reasonCode })
    }
  })

  test('debits a use on the next day, because its window does not cover the entry', async () => {
    const workspace = await api.workspace()
    const { zoneId, projectId } = await zoneOf(workspace)
    const start = api.now.toISOString()
    const [noon, end] = [24, 48].map((hours) => new Date(api.now.getTime() + hours * 3_600_000).toISOString())
    const redemption = {
      windows: [
        { start, end: noon, maxUses: 1 },
        { start: noon, end, maxUses: 1 },
      ],
      maxUses: 2,
    }
    const { id: passId } = await scannablePass(workspace, { projectId, redemption })
    const usesAfter = async (direction: 'in' | 'out') =>
      (await scan(workspace, { passId, zoneId, direction })).pass!.acceptedScanCount
    expect([await usesAfter('in'), await usesAfter('out'), await usesAfter('in'), await usesAfter('out')]).toEqual([
      1, 1, 1, 1,
    ])
    api.advance(25 * 3_600)
    expect([await usesAfter('in'), await usesAfter('out'), await usesAfter('in')]).toEqual([2, 2, 2])
    // Another policy does not change the exits and the re-entries of the ledger.
    const range = { from: start, to: end! }
    const replay = await workspace.ok(scans.replay, { body: { projectId, policy: { maxUses: 1 }, ...range } })
    expect(replay).toMatchObject({ scans: 7, changed: 2 })
  })

  test('stores offline movements as decided, with conflicts, and counts a double entry once', async () => {
    const workspace = await api.workspace()
    const { zoneId, projectId } = await zoneOf(workspace, { capacity: 1, whenFull: 'deny' })
    const [ada, bert] = [await scannablePass(workspace, { projectId }), await scannablePass(workspace, { projectId })]
    let refs = 0
    const report = async (passId: string, direction: 'in' | 'out', minute: number) => {
      refs += 1
      const scannedAt = new Date(api.now.getTime() + minute * 60_000).toISOString()
      const decided = { externalRef: `ref-${refs}`, passId, scannedAt, result: 'accepted', reason: 'valid' } as const
      const body = { scans: [{ ...decided, zoneId, direction }] }
      return (await workspace.ok(scanner.report, { body })).results[0]!.conflict
    }
    const inside = async () => (await workspace.ok(zones.get, { params: { id: zoneId } })).inside
    api.advance(3_600)
    expect(await report(ada.id, 'out', -50)).toBe('out_of_window')
    expect(await report(ada.id, 'in', -40)).toBeNull()
    expect(await report(ada.id, 'in', -30)).toBe('already_used')
    expect(await inside()).toBe(1)
    expect(await report(bert.id, 'in', -20)).toBe('quota_exhausted')
    expect(await inside()).toBe(2)
    expect(await report(ada.id, 'out', -10)).toBeNull()
    expect(await inside()).toBe(1)
    await workspace.ok(zones.reset, { params: { id: zoneId }, body: { reason: 'End of the day' } })
    expect(await report(ada.id, 'in', -5)).toBeNull()
    expect(await inside()).toBe(0)
  })

  test('a door has a zone and a direction, changes both, and adjusts and sees only zones of its project', async () => {
    const workspace = await api.workspace()
    const { zoneId, projectId } = await zoneOf(workspace)
    const other = await zoneOf(workspace)
    const expiresAt = new Date(api.now.getTime() + 3_600_000).toISOString()
    const { code } = await workspace.ok(doors.invite, { body: { projectId, gate: 'North', expiresAt } })
    const { door, token } = await workspace.ok(doors.claim, { body: { code, name: 'Anna' } })
    const phone = new TestWorkspace(api, workspace.id, token)
    const params = { id: door.id }
    expect(door).not.toHaveProperty('zoneId')
    expect((await phone.call(doors.update, { params, body: { direction: 'out' } })).status).toBe(400)
    expect((await phone.call(doors.update, { params, body: { zoneId: other.zoneId } })).status).toBe(404)
    expect(await phone.ok(doors.update, { params, body: { zoneId } })).toMatchObject({ zoneId, direction: 'in' })
    api.advance(2)
    const { id: passId } = await scannablePass(workspace, { projectId })
    expect((await scan(phone, { passId })).scan).toMatchObject({ zoneId, direction: 'in' })
    expect((await scan(phone, { passId, direction: 'out' })).scan).toMatchObject({ zoneId, direction: 'out' })
    const decided = { externalRef: 'before', passId, scannedAt: api.now.toISOString() }
    const scans = [{ ...decided, result: 'denied' as const, reason: 'already_used' as const }]
    const { results } = await phone.ok(scanner.report, { body: { scans } })
    expect(results[0]!.scan).not.toHaveProperty('zoneId')
    await phone.ok(doors.update, { params, body: { direction: 'out' } })
    expect((await phone.ok(zones.list, {})).items.map(({ id }) => id)).toEqual([zoneId])
    const body = { delta: 2, reason: 'Staff', externalRef: 'staff' }
    expect((await phone.call(zones.adjust, { params: { id: other.zoneId }, body })).status).toBe(404)
    for (const _ of ['first', 'again'])
      expect(await phone.ok(zones.adjust, { params: { id: zoneId }, body })).toMatchObject({ inside: 2 })
    const tooMany = { ...body, delta: -3, externalRef: 'too-many' }
    expect(await phone.refused(zones.adjust, { params: { id: zoneId }, body: tooMany })).toMatchObject({
      status: 409,
      errorCode: 'CONFLICT',
      details: { inside: 2, delta: -3 },
    })
  })

  test('a deleted zone ends at its entrances, but an exit keeps it and records no scans until it is changed', async () => {
    const workspace = await api.workspace()
    const { zoneId, projectId } = await zoneOf(workspace)
    const { id: passId } = await scannablePass(workspace, { projectId })
    const expiresAt = new Date(api.now.getTime() + 3_600_000).toISOString()
    const { code } = await workspace.ok(doors.invite, { body: { projectId, gate: 'North', uses: 2, expiresAt } })
    const [entrance, exit] = await Promise.all(
      (['in', 'out'] as const).map(async (direction) => {
        const { door, token } = await workspace.ok(doors.claim, { body: { code, name: direction } })
        const phone = new TestWorkspace(api, workspace.id, token)
        const params = { id: door.id }
        await phone.ok(doors.update, { params, body: { zoneId, direction } })
        return { phone, params, self: async () => (await phone.ok(doors.list, {})).items[0] }
      }),
    )
    await workspace.ok(zones.delete, { params: { id: zoneId } })
    api.advance(2)
    expect(await entrance!.self()).not.toHaveProperty('direction')
    const { phone, params, self } = exit!
    expect(await self()).toMatchObject({ zoneId, direction: 'out' })
    expect((await phone.call(scans.create, { body: { passId } })).status).toBe(404)
    expect((await phone.call(doors.update, { params, body: { direction: 'in' } })).status).toBe(404)
    expect((await workspace.ok(scans.list, {})).total).toBe(0)
    expect((await scan(entrance!.phone, { passId })).result).toBe('accepted')
    const { id: gallery } = await workspace.ok(zones.create, { body: { projectId, name: 'Gallery' } })
    const moved = await phone.ok(doors.update, { params, body: { zoneId: gallery } })
    expect(moved).toMatchObject({ zoneId: gallery, direction: 'out' })
    await phone.ok(doors.update, { params, body: { zoneId: null } })
    api.advance(2)
    expect(await self()).not.toHaveProperty('direction')
    expect((await scan(phone, { passId })).scan).not.toHaveProperty('zoneId')
  })

  test('reports each threshold of the capacity once until the number fell below its lower bound', async () => {
    const workspace = await api.workspace()
    const { zoneId } = await zoneOf(workspace, { capacity: 100 })
    let refs = 0
    for (const delta of [79, 1, 5, -9, 4, -6, 6, 20, -5, 5, -6, 6]) {
      refs += 1
      await workspace.ok(zones.adjust, { params: { id: zoneId }, body: { delta, reason: 'x', externalRef: `${refs}` } })
    }
    const events = await workspace.events(zoneId)
    expect(events.map(({ data }) => [data.percent, data.inside])).toEqual([
      [80, 80],
      [80, 80],
      [100, 100],
      [100, 100],
    ])
    expect(events[0]!.data).toMatchObject({ id: zoneId, name: 'Hall', capacity: 100 })
  })

  test('adjustments of more than 32 bits do not stop entries', async () => {
    const workspace = await api.workspace()
    const { zoneId, projectId } = await zoneOf(workspace, { capacity: 100 })
    const { id: passId } = await scannablePass(workspace, { projectId })
    await api.services.store.transaction(async (tx) => {
      const zone = (await tx.zones.findForUpdate(workspace.id, zoneId))!
      for (const externalRef of ['first', 'second'])
        await tx.zones.adjust(workspace.id, zone, { delta: 2_000_000_000, reason: 'Typo', externalRef }, api.now)
    })
    const inside = 4_000_000_001
    expect(await scan(workspace, { passId, zoneId })).toMatchObject({ result: 'accepted', zone: { inside } })
    api.advance(1)
    const { items, ...occupancy } = await workspace.ok(zones.occupancy, { params: { id: zoneId }, query: {} })
    expect(occupancy).toMatchObject({ inside, peak: inside, entries: inside, exits: 0 })
    expect(items.at(-1)).toMatchObject({ entries: inside, inside })
    const byMinute = await workspace.ok(zones.occupancy, { params: { id: zoneId }, query: { by: 'minute' } })
    expect(byMinute.items.at(-1)).toMatchObject({ entries: inside, inside })
    const reset = await workspace.ok(zones.reset, { params: { id: zoneId }, body: { reason: 'Typo' } })
    expect(reset).toMatchObject({ inside: 0 })
  })

  test('the group of a pass and the snapshot show who is inside', async () => {
    const workspace = await api.workspace()
    const { zoneId, projectId } = await zoneOf(workspace)
    const members = []
    for (const label of ['Ada', 'Bert', 'Cleo']) {
      const member = await scannablePass(workspace, { projectId, label })
      await workspace.ok(passes.update, { params: { id: member.id }, body: { groupKey: 'family' } })
      members.push(member)
    }
    const [ada, bert] = members
    await scan(workspace, { passId: ada!.id, zoneId })
    const { pass } = await scan(workspace, { passId: bert!.id, zoneId })
    expect(pass!.group).toMatchObject({
      size: 3,
      used: 2,
      inside: [{ label: 'Ada' }, { label: 'Bert' }],
      open: [{ label: 'Cleo' }],
    })
    const left = await scan(workspace, { passId: ada!.id, zoneId, direction: 'out' })
    expect(left.pass!.group).toMatchObject({ inside: [{ label: 'Bert' }], open: [{ label: 'Cleo' }] })
    const list = await workspace.ok(scanner.snapshot, { query: { projectId } })
    expect(list.zones).toMatchObject([{ id: zoneId, inside: 1 }])
    expect(list.items.map(({ presence }) => presence?.map(({ direction, use }) => [direction, use !== null]))).toEqual([
      [['out', true]],
      [['in', true]],
      undefined,
    ])
    await workspace.ok(zones.reset, { params: { id: zoneId }, body: { reason: 'x' } })
    const after = await workspace.ok(scanner.snapshot, { query: { projectId } })
    expect(after.items.every(({ presence }) => presence === undefined)).toBe(true)
  })
})
