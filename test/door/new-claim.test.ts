import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { contract } from '../../src/core/contract/contract.ts'
import { scannablePass } from '../server/api/scans/scan-support.ts'
import { makeProject } from '../server/fixtures.ts'
import { type TestWorkspace, useApi } from '../support/api.ts'
import { claim, claimedPhone, Phone } from './phone.ts'

// biome-ignore lint/correctness/useHookAtTopLevel: no hook of React
const api = useApi('sqlite')

async function place() {
  const workspace = await api.workspace()
  const { id: projectId } = await makeProject(workspace)
  // The pass is created before the list is loaded.
  const pass = await scannablePass(workspace, { projectId })
  return { workspace, projectId, pass, phone: await claimedPhone(workspace, projectId) }
}

const camera = (payload: string) => ({ payload, method: 'camera' as const })

/** Returns the scans of a pass in the ledger, oldest first. */
async function resultsOf(workspace: TestWorkspace, passId: string) {
  const { items } = await workspace.ok(contract.scans.list, { query: { passId, limit: 100 } })
  return items.toReversed().map(({ result }) => result)
}

/** Revokes the door of a phone, and waits until the phone knows. */
async function end(phone: Phone) {
  await phone.revoke()
  // Another server might accept a revoked token for up to this time.
  api.advance(5)
  phone.network = 'up'
  phone.engine.retry()
  await phone.until(({ problems }) => problems.some(({ code }) => code === 'revoked'))
}

test('the next door reverses a pending scan of the previous one, and counts never fall below 0', async () => {
  const { workspace, projectId, pass, phone } = await place()
  phone.network = 'down'
  const scanned = await phone.engine.scan(camera(pass.code))
  expect(scanned).toMatchObject({ result: 'accepted', isPending: true })
  await end(phone)
  await claim(phone, projectId)
  await phone.settle()
  expect(await phone.engine.undo(scanned)).toMatchObject({ result: 'reversal', failure: null, isPending: false })
  expect(await resultsOf(workspace, pass.id)).toEqual(['accepted', 'reversal'])
  expect(phone.engine.state).toMatchObject({ counts: { accepted: 0 }, pending: 0, problems: [] })
  await phone.engine.stop()
})

test('rejects a pending undo of a scan of the previous door, with the reason', async () => {
  const { workspace, projectId, pass, phone } = await place()
  const scanned = await phone.engine.scan(camera(pass.code))
  phone.network = 'down'
  await phone.engine.undo(scanned)
  await phone.until(({ pending }) => pending === 1)
  await end(phone)
  await claim(phone, projectId)
  await phone.settle()
  const [undo] = phone.engine.state.recent
  expect(undo).toMatchObject({ result: 'error', failure: 'of_another', label: pass.label })
  expect(phone.engine.state).toMatchObject({
    counts: { accepted: 0 },
    problems: [{ code: 'rejected', scans: 1, isOfAnother: true }],
  })
  expect(await resultsOf(workspace, pass.id)).toEqual(['accepted'])
  await phone.engine.stop()
})

test('an undo waits while the workspace is suspended', async () => {
  const { workspace, pass, phone } = await place()
  const scanned = await phone.engine.scan(camera(pass.code))
  const set = (suspendedAt: number | null) =>
    api.database.writer('workspaces').where({ id: workspace.id }).update({ suspended_at: suspendedAt })
  await set(1)
  api.advance(5)
  expect(await phone.engine.undo(scanned)).toMatchObject({ result: 'reversal', isPending: true })
  await phone.until(({ problems }) => problems.some(({ code }) => code === 'refused'))
  expect(phone.engine.state.problems).toHaveLength(1)
  await set(null)
  api.advance(5)
  await phone.settle()
  expect(await resultsOf(workspace, pass.id)).toEqual(['accepted', 'reversal'])
  await phone.engine.stop()
})

test('pending scans of another project keep their project and undo, and are reported until read', async () => {
  const { workspace, projectId, pass, phone } = await place()
  phone.network = 'down'
  const scanned = await phone.engine.scan(camera(pass.code))
  await end(phone)
  const { id: another } = await makeProject(workspace)
  await claim(phone, another)
  expect(await phone.engine.undo(scanned)).toMatchObject({ result: 'reversal', isPending: true })
  const told = { code: 'pending_elsewhere', pending: 2 }
  await phone.until(({ pending }) => pending === 2)
  expect(phone.engine.state).toMatchObject({ counts: { accepted: 0 }, problems: [told] })
  await phone.engine.dismiss('pending_elsewhere')
  expect(phone.engine.state.problems).toEqual([])
  await phone.engine.stop()
  await phone.open()
  expect(phone.engine.state.problems).toEqual([told])
  await claim(phone, projectId)
  await phone.settle()
  expect(await resultsOf(workspace, pass.id)).toEqual(['accepted', 'reversal'])
  expect(phone.engine.state.problems).toEqual([])
  await phone.engine.stop()
})

test('a valid door uploads pending scans before the phone becomes another door', async () => {
  const { workspace, projectId, pass, phone } = await place()
  const before = phone.engine.state.door!.id
  phone.network = 'deaf'
  await phone.engine.scan(camera(pass.code))
  phone.network = 'down'
  expect(await phone.engine.scan(camera('nobody'))).toMatchObject({ result: 'unknown', isPending: true })
  phone.network = 'up'
  await claim(phone, (await makeProject(workspace)).id)
  expect(phone.engine.state).toMatchObject({ pending: 0, problems: [] })
  const { items } = await workspace.ok(contract.scans.list, { query: { projectId: [projectId] } })
  expect(items.map(({ deviceId }) => deviceId)).toEqual([before, before])
  await phone.engine.stop()
})

test('a phone that claims while it is revoked stays the new door', async () => {
  const { projectId, phone } = await place()
  // A phone takes its time to remove a long list.
  let release: () => void = () => undefined
  const removed = new Promise<void>((resolve) => {
    release = resolve
  })
  phone.beforeStore = (name) => (name === 'wipe' ? removed : Promise.resolve())
  await end(phone)
  const claimed = claim(phone, projectId, 'South')
  for (let turn = 0; turn < 3000; turn += 1) await setImmediate()
  release()
  await claimed
  await phone.engine.stop()
  await phone.open()
  expect(phone.engine.state).toMatchObject({ door: { gate: 'South' }, list: { size: 1 }, problems: [] })
  await phone.engine.stop()
})

test('a page in another tab continues as the new door of the phone, and takes nothing from it', async () => {
  const { workspace, projectId, pass, phone } = await place()
  const tab = new Phone(workspace, phone)
  await tab.open()
  await claim(tab, projectId, 'South')
  // The first tab learns it from a rejected request, or when it becomes visible again.
  await phone.revoke()
  api.advance(5)
  phone.engine.retry()
  await phone.until(({ door, connection }) => door?.gate === 'South' && connection === 'online')
  expect(phone.engine.state).toMatchObject({ problems: [] })
  await claim(tab, projectId, 'West')
  phone.wake()
  await phone.until(({ door, connection }) => door?.gate === 'West' && connection === 'online')
  expect(await phone.engine.scan(camera(pass.code))).toMatchObject({ result: 'accepted' })
  await Promise.all([phone.engine.stop(), tab.engine.stop()])
  await tab.open()
  expect(tab.engine.state).toMatchObject({ door: { gate: 'West' }, counts: { accepted: 1 } })
  await tab.engine.stop()
})
