import { expect, test } from 'vitest'
import { contract } from '../../src/core/contract/contract.ts'
import type { EngineState } from '../../src/door/engine/engine.ts'
import { scannablePass } from '../server/api/scans/scan-support.ts'
import { makeProject } from '../server/fixtures.ts'
import { useApi } from '../support/api.ts'
import { claimedPhone } from './phone.ts'

// biome-ignore lint/correctness/useHookAtTopLevel: no hook of React
const api = useApi('sqlite')

const camera = (payload: string) => ({ payload, method: 'camera' as const })

/** A phone in a hall, with a pass. */
async function hall() {
  const workspace = await api.workspace()
  const { id: projectId } = await makeProject(workspace)
  const { id: zoneId } = await workspace.ok(contract.zones.create, { body: { projectId, name: 'Hall' } })
  const pass = await scannablePass(workspace, { projectId })
  const phone = await claimedPhone(workspace, projectId)
  const { engine } = phone
  const turn = (direction: 'in' | 'out') => engine.setMovement({ zoneId, direction })
  await turn('in')
  await phone.until(({ zone }) => zone !== null)
  const inside = async () => (await workspace.ok(contract.zones.get, { params: { id: zoneId } })).inside
  const reset = () => workspace.ok(contract.zones.reset, { params: { id: zoneId }, body: { reason: 'End of day' } })
  return { workspace, projectId, zoneId, pass, phone, engine, turn, inside, reset }
}

test('a re-entry that the server decided debits no use at the door either', async () => {
  const { pass, phone, engine, turn } = await hall()
  const scanInTurns = async (verified: 'online' | 'offline', directions: readonly ('in' | 'out')[]) => {
    for (const direction of directions) {
      api.advance(5)
      await turn(direction)
      const decision = await engine.scan(camera(pass.code))
      expect(decision).toMatchObject({ result: 'accepted', direction, verified })
    }
  }
  await scanInTurns('online', ['in', 'out', 'in'])
  phone.network = 'down'
  await scanInTurns('offline', ['out', 'in', 'out'])
  await phone.until(({ counts }) => counts.left === 3)
  expect(engine.state).toMatchObject({ counts: { accepted: 3 }, zone: { inside: 0 } })
  expect(engine.state.recent[0]!.priorScanCount).toBe(1)
  await phone.settle()
  expect(engine.state.conflicts).toEqual([])
  await engine.stop()
})

test('counts out wait until the entrances have uploaded, also after a restart, and count once', async () => {
  const { workspace, projectId, zoneId, pass, phone, inside } = await hall()
  const exit = await claimedPhone(workspace, projectId)
  await exit.engine.setMovement({ zoneId, direction: 'out' })
  await exit.until(({ zone }) => zone !== null)
  await exit.settle()
  phone.network = 'down'
  expect(await phone.engine.scan(camera(pass.code))).toMatchObject({ result: 'accepted', verified: 'offline' })
  exit.network = 'down'
  const counts = [await exit.engine.adjust(-1), await exit.engine.adjust(-1)]
  await exit.engine.undoAdjustment(counts[0]!)
  exit.network = 'up'
  exit.engine.retry()
  const isHeld = ({ problems }: EngineState) => problems.some(({ code }) => code === 'counts_held')
  await exit.until((state) => isHeld(state) && state.connection === 'online')
  await exit.until(({ pending }) => pending === 1)
  expect(exit.engine.state).toMatchObject({ zone: { inside: 0 }, problems: [{ references: { length: 1 } }] })
  await exit.engine.stop()
  await exit.open()
  expect(exit.engine.state.problems).toMatchObject([{ code: 'counts_held', references: { length: 1 } }])
  await exit.until(({ connection }) => connection === 'online')
  await phone.settle()
  await exit.settle()
  expect(exit.engine.state.problems).toEqual([])
  expect(await inside()).toBe(0)
  for (const { engine } of [phone, exit]) await engine.stop()
})

test('a reset drops earlier counts of a door, also those that wait', async () => {
  const { phone, engine, inside, reset } = await hall()
  phone.network = 'down'
  await engine.adjust(-1)
  phone.network = 'up'
  engine.retry()
  await phone.until(({ problems }) => problems.some(({ code }) => code === 'counts_held'))
  phone.network = 'down'
  await engine.adjust(1)
  api.advance(5)
  await reset()
  await phone.settle()
  expect(await inside()).toBe(0)
  await phone.until(({ zone, problems }) => zone!.inside === 0 && problems.length === 0)
  await engine.stop()
})

test('a zone that was deleted after it was chosen offline ends at the door, and its scans are uploaded', async () => {
  const { workspace, projectId, pass, phone, engine } = await hall()
  const { id: clubId } = await workspace.ok(contract.zones.create, { body: { projectId, name: 'Club' } })
  phone.network = 'down'
  await engine.setMovement({ zoneId: clubId, direction: 'in' })
  expect(await engine.scan(camera(pass.code))).toMatchObject({ result: 'accepted', zoneId: clubId })
  await workspace.ok(contract.zones.delete, { params: { id: clubId } })
  await phone.settle()
  await phone.until(({ door }) => door!.movement?.zoneId !== clubId)
  await phone.until(({ problems }) => problems.some(({ code }) => code === 'zone_deleted'))
  const { items } = await workspace.ok(contract.scans.list, { query: { passId: pass.id } })
  expect(items).toMatchObject([{ result: 'accepted', zoneId: clubId, direction: 'in' }])
  await engine.stop()
})

test('the first scan after the deletion of its zone has no zone, and its notice outlasts a restart', async () => {
  const { workspace, zoneId, pass, phone, engine } = await hall()
  await workspace.ok(contract.zones.delete, { params: { id: zoneId } })
  const decision = await engine.scan(camera(pass.code))
  expect(decision).toMatchObject({ result: 'accepted', verified: 'online' })
  expect(decision.zoneId).toBeUndefined()
  engine.retry()
  await phone.until(({ door }) => door!.movement === undefined)
  await phone.until(({ problems }) => problems.length > 0)
  const notice = [{ code: 'zone_deleted', name: 'Hall' }]
  expect(engine.state.problems).toEqual(notice)
  await engine.stop()
  await phone.open()
  expect(phone.engine.state.problems).toEqual(notice)
  await phone.engine.dismiss('zone_deleted')
  expect(phone.engine.state.problems).toEqual([])
  await phone.engine.stop()
})

test('a zone chosen while the deletion of the last one is noticed reaches the server', async () => {
  const { workspace, projectId, zoneId, pass, phone, engine } = await hall()
  const { id: clubId } = await workspace.ok(contract.zones.create, { body: { projectId, name: 'Club' } })
  await phone.settle()
  await workspace.ok(contract.zones.delete, { params: { id: zoneId } })
  const scanned = engine.scan(camera(pass.code))
  await engine.setMovement({ zoneId: clubId, direction: 'in' })
  await scanned
  // Send the zone to the server.
  await engine.flush()
  const { items } = await workspace.ok(contract.doors.list, { query: { projectId } })
  expect(items).toMatchObject([{ zoneId: clubId, direction: 'in' }])
  expect(engine.state.door!.movement).toEqual({ zoneId: clubId, direction: 'in' })
  await engine.stop()
})

/** A phone at an exit whose zone is deleted. The person was admitted before. */
async function deletedExit() {
  const at = await hall()
  const { workspace, zoneId, pass, phone, engine, turn } = at
  await engine.scan(camera(pass.code))
  await turn('out')
  // Send the direction to the server.
  await engine.flush()
  await workspace.ok(contract.zones.delete, { params: { id: zoneId } })
  const refuses = async () => {
    api.advance(5)
    const decision = await phone.engine.scan(camera(pass.code))
    expect(decision).toMatchObject({ result: 'error', failure: 'exit_deleted', direction: 'out' })
  }
  const scanCount = async () => (await workspace.ok(contract.scans.list, {})).total
  return { ...at, refuses, scanCount }
}

test('an exit whose zone was deleted scans nothing, online, offline, and after a restart', async () => {
  const { zoneId, phone, refuses, scanCount } = await deletedExit()
  await refuses()
  phone.network = 'down'
  await refuses()
  await phone.engine.stop()
  await phone.open()
  await refuses()
  expect(phone.engine.state).toMatchObject({
    door: { movement: { zoneId, direction: 'out' } },
    problems: [{ code: 'exit_deleted' }],
    pending: 0,
  })
  phone.network = 'up'
  phone.engine.retry()
  await phone.until(({ connection }) => connection === 'online')
  await refuses()
  // The direction of a deleted zone cannot be switched, which would turn the exit into an entrance.
  await phone.engine.setMovement({ zoneId, direction: 'in' })
  await refuses()
  expect(await scanCount()).toBe(1)
  expect(phone.engine.state.pending).toBe(0)
  await phone.engine.stop()
})

test('an exit learns of the deletion of its zone without a scan, and scans again once a zone is chosen', async () => {
  const { workspace, projectId, pass, phone, engine, refuses } = await deletedExit()
  engine.retry()
  await phone.until(({ problems }) => problems.some(({ code }) => code === 'exit_deleted'))
  phone.network = 'down'
  await refuses()
  phone.network = 'up'
  const { id: clubId } = await workspace.ok(contract.zones.create, { body: { projectId, name: 'Club' } })
  await engine.setMovement({ zoneId: clubId, direction: 'out' })
  expect(engine.state.problems).toEqual([])
  api.advance(5)
  expect(await engine.scan(camera(pass.code))).toMatchObject({ result: 'denied', zoneId: clubId, direction: 'out' })
  await engine.setMovement(null)
  await engine.flush()
  api.advance(5)
  expect(await engine.scan(camera(pass.code))).toMatchObject({ result: 'duplicate', failure: null })
  await engine.stop()
})

test('an exit whose zone was deleted scans again once the server has another zone for it', async () => {
  const { workspace, projectId, phone, engine, refuses } = await deletedExit()
  await refuses()
  const { id: clubId } = await workspace.ok(contract.zones.create, { body: { projectId, name: 'Club' } })
  const { id } = engine.state.door!
  await workspace.ok(contract.doors.update, { params: { id }, body: { zoneId: clubId, direction: 'out' } })
  engine.retry()
  await phone.until(({ door }) => door!.movement?.zoneId === clubId)
  expect(engine.state.problems).toEqual([])
  await engine.stop()
})

test('an exit that was chosen offline stays an exit if its zone was deleted in the meantime', async () => {
  const { workspace, projectId, phone, engine, pass } = await hall()
  const { id: clubId } = await workspace.ok(contract.zones.create, { body: { projectId, name: 'Club' } })
  await phone.settle()
  phone.network = 'down'
  await engine.setMovement({ zoneId: clubId, direction: 'out' })
  await workspace.ok(contract.zones.delete, { params: { id: clubId } })
  await phone.settle()
  await phone.until(({ problems }) => problems.some(({ code }) => code === 'exit_deleted'))
  await phone.settle()
  expect(await engine.scan(camera(pass.code))).toMatchObject({ failure: 'exit_deleted', zoneId: clubId })
  expect((await workspace.ok(contract.scans.list, {})).total).toBe(0)
  await engine.stop()
})
