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
  return { workspace, projectId }
}

/** Returns the scans of a pass in the ledger, oldest first. */
async function ledger(workspace: TestWorkspace, passId: string) {
  const { items } = await workspace.ok(contract.scans.list, { query: { passId, limit: 100 } })
  return items.toReversed()
}

const camera = (payload: string) => ({ payload, method: 'camera' as const })

test('a door decides with the server, or offline with the list and its own admissions', async () => {
  const { workspace, projectId } = await place()
  const [one, two] = [await scannablePass(workspace, { projectId }), await scannablePass(workspace, { projectId })]
  const phone = await claimedPhone(workspace, projectId)
  const { engine } = phone
  expect(engine.state).toMatchObject({ door: { gate: 'North' }, list: { size: 2 }, problems: [], isPersistent: true })
  expect(await engine.scan(camera(one.code))).toMatchObject({
    result: 'accepted',
    verified: 'online',
    isPending: false,
  })
  expect(await engine.gates()).toEqual([{ gate: 'North', accepted: 1 }])
  phone.network = 'down'
  api.advance(5)
  expect(await engine.gates()).toBe(undefined)
  expect(await engine.scan(camera(one.code))).toMatchObject({ result: 'duplicate', verified: 'offline' })
  expect(engine.state.connection).toBe('offline')
  expect(await engine.scan(camera(two.code))).toMatchObject({
    result: 'accepted',
    verified: 'offline',
    isPending: true,
  })
  expect(await engine.scan(camera(two.code))).toMatchObject({ result: 'same_scan' })
  expect(await engine.scan(camera('nobody'))).toMatchObject({ result: 'unknown', verified: 'offline' })
  await phone.until(({ pending }) => pending === 3)
  await phone.settle()
  expect((await ledger(workspace, two.id)).map(({ result, verified }) => [result, verified])).toEqual([
    ['accepted', 'offline'],
  ])
  expect((await ledger(workspace, one.id)).map(({ result }) => result)).toEqual(['accepted', 'denied'])
  await phone.until(({ recent }) => recent.every(({ isPending }) => !isPending))
  expect(engine.state.counts).toMatchObject({ accepted: 2, turnedAway: 2 })
  expect(engine.state.conflicts).toEqual([])
  await engine.stop()
})

test('a door that scans continuously reconnects and uploads its offline decisions', async () => {
  const { workspace, projectId } = await place()
  const codes: string[] = []
  for (let n = 0; n < 8; n += 1) codes.push((await scannablePass(workspace, { projectId })).code)
  const phone = await claimedPhone(workspace, projectId)
  const { engine } = phone
  phone.network = 'down'
  const scans = [engine.scan(camera(codes.shift()!))]
  await Promise.all(scans)
  let reports = 0
  phone.onRequest = ({ url }) => {
    if (!url.endsWith(contract.scanner.report.path)) return
    reports += 1
    // Scan the next code while the previous decision is being sent.
    const code = codes.shift()
    if (code) scans.push(engine.scan(camera(code)))
  }
  await phone.settle()
  expect(reports).toBeLessThan(4)
  const decisions = await Promise.all(scans)
  expect(decisions.map(({ result }) => result)).toEqual(scans.map(() => 'accepted'))
  expect(decisions.at(-1)!.verified).toBe('online')
  const { items } = await workspace.ok(contract.scans.list, { query: { limit: 100 } })
  expect(items.map(({ passId }) => passId).toSorted()).toEqual(decisions.map(({ passId }) => passId).toSorted())
  await engine.stop()
})

test('a request that timed out counts once, whichever of its two copies arrives first', async () => {
  const { workspace, projectId } = await place()
  const pass = await scannablePass(workspace, { projectId })
  const phone = await claimedPhone(workspace, projectId)
  phone.network = 'deaf'
  const decision = await phone.engine.scan(camera(pass.code))
  expect(decision).toMatchObject({ result: 'accepted', verified: 'offline' })
  expect(await ledger(workspace, pass.id)).toMatchObject([{ result: 'accepted', verified: 'online' }])
  await phone.settle()
  expect(await ledger(workspace, pass.id)).toHaveLength(1)
  await phone.until(({ recent }) => recent[0]!.scanId !== null)
  expect(phone.engine.state).toMatchObject({ conflicts: [], recent: [{ externalRef: decision.externalRef }] })
  await phone.engine.stop()
})

test('an admission whose rejection was lost is in the ledger as a conflict next to the rejection', async () => {
  const { workspace, projectId } = await place()
  const pass = await scannablePass(workspace, { projectId })
  const [north, south] = [await claimedPhone(workspace, projectId), await claimedPhone(workspace, projectId, 'South')]
  expect(await south.engine.scan(camera(pass.code))).toMatchObject({ result: 'accepted', verified: 'online' })
  api.advance(10)
  north.network = 'deaf'
  expect(await north.engine.scan(camera(pass.code))).toMatchObject({ result: 'accepted', verified: 'offline' })
  await north.settle()
  const scans = await ledger(workspace, pass.id)
  expect(scans.map(({ result, metadata }) => [result, metadata.conflict]).toSorted()).toEqual(
    [
      ['accepted', undefined],
      ['accepted', 'already_used'],
      ['denied', undefined],
    ].toSorted(),
  )
  await north.until(({ conflicts }) => conflicts.length === 1)
  for (const phone of [north, south]) await phone.engine.stop()
})

test('two offline doors admit one pass, and each shows the conflict of the ledger', async () => {
  const { workspace, projectId } = await place()
  const pass = await scannablePass(workspace, { projectId })
  const doors = [await claimedPhone(workspace, projectId), await claimedPhone(workspace, projectId, 'South')]
  for (const phone of doors) {
    phone.network = 'down'
    api.advance(10)
    expect(await phone.engine.scan(camera(pass.code))).toMatchObject({ result: 'accepted', verified: 'offline' })
  }
  for (const phone of doors) await phone.settle()
  const scans = await ledger(workspace, pass.id)
  expect(scans.map(({ result }) => result)).toEqual(['accepted', 'accepted'])
  expect(scans.filter(({ metadata }) => metadata.conflict === 'already_used')).toHaveLength(1)
  await doors[1]!.until(({ conflicts }) => conflicts.length === 1)
  expect(doors[1]!.engine.state.conflicts).toMatchObject([{ label: pass.label, conflict: 'already_used' }])
  expect(doors[0]!.engine.state.conflicts).toEqual([])
  for (const phone of doors) await phone.engine.stop()
})

test('reverses a scan in the ledger at once, or offline after the reconnection', async () => {
  const { workspace, projectId } = await place()
  const pass = await scannablePass(workspace, { projectId })
  const phone = await claimedPhone(workspace, projectId)
  const { engine } = phone
  const first = await engine.scan(camera(pass.code))
  expect(await engine.undo(first)).toMatchObject({ result: 'reversal', failure: null })
  expect(await engine.undo(first)).toMatchObject({ result: 'error', failure: 'not_undone' })
  expect((await ledger(workspace, pass.id)).map(({ result }) => result)).toEqual(['accepted', 'reversal'])
  phone.network = 'down'
  api.advance(10)
  const second = await engine.scan(camera(pass.code))
  expect(second).toMatchObject({ result: 'accepted', verified: 'offline' })
  expect(await engine.undo(second)).toMatchObject({ result: 'reversal', isPending: true })
  // Scan at once: the reading is not a repetition of the reversed scan.
  api.advance(1)
  expect(await engine.scan(camera(pass.code))).toMatchObject({ result: 'accepted', verified: 'offline' })
  await phone.settle()
  const results = (await ledger(workspace, pass.id)).map(({ result }) => result)
  expect(results.toSorted()).toEqual(['accepted', 'accepted', 'accepted', 'reversal', 'reversal'])
  expect(engine.state).toMatchObject({ conflicts: [], counts: { accepted: 1, turnedAway: 0 } })
  await engine.stop()
})

test('a revoked door reports it, keeps neither token nor list, and passes pending scans to the next door', async () => {
  const { workspace, projectId } = await place()
  const pass = await scannablePass(workspace, { projectId })
  const phone = await claimedPhone(workspace, projectId)
  phone.network = 'down'
  expect(await phone.engine.scan(camera(pass.code))).toMatchObject({ result: 'accepted', isPending: true })
  await phone.revoke()
  // Another server might accept a revoked token for up to this time.
  api.advance(5)
  phone.network = 'up'
  phone.engine.retry()
  await phone.until(({ problems, list }) => problems.some(({ code }) => code === 'revoked') && list === null)
  expect(phone.engine.state).toMatchObject({ door: null, pending: 1 })
  expect(await phone.engine.scan(camera(pass.code))).toMatchObject({ result: 'error', failure: 'not_claimed' })
  expect(await phone.engine.search('Ada', 5)).toEqual([])
  // A reloaded page still shows the reason.
  await phone.open()
  expect(phone.engine.state).toMatchObject({ door: null, problems: [{ code: 'revoked' }] })

  const other = await makeProject(workspace)
  await claim(phone, other.id)
  expect(phone.engine.state.problems).toEqual([{ code: 'pending_elsewhere', pending: 1 }])
  await claim(phone, projectId)
  await phone.settle()
  expect(phone.engine.state.problems).toEqual([])
  expect(await ledger(workspace, pass.id)).toMatchObject([{ result: 'accepted', verified: 'offline' }])
  await phone.engine.stop()
})

test('a phone changes its own gate, for scans with the server and without it', async () => {
  const { workspace, projectId } = await place()
  const [one, two] = [await scannablePass(workspace, { projectId }), await scannablePass(workspace, { projectId })]
  const phone = await claimedPhone(workspace, projectId)
  expect(await phone.engine.moveTo('South')).toBe(null)
  expect(phone.engine.state.door).toMatchObject({ gate: 'South' })
  // A server caches a token and the gate of its door for a second.
  api.advance(1)
  await phone.engine.scan(camera(one.code))
  phone.network = 'down'
  expect(await phone.engine.moveTo('West')).toMatchObject({ code: 'no_answer' })
  await phone.engine.scan(camera(two.code))
  await phone.settle()
  for (const { id } of [one, two]) expect(await ledger(workspace, id)).toMatchObject([{ metadata: { gate: 'South' } }])
  await phone.open()
  expect(phone.engine.state.door).toMatchObject({ gate: 'South' })
  await phone.engine.stop()
})

test('messages have times in the zone of the phone, with the server and without it', async () => {
  const { workspace, projectId } = await place()
  const { code } = await scannablePass(workspace, { projectId })
  const phone = await claimedPhone(workspace, projectId)
  phone.zone = 'Asia/Kathmandu'
  await phone.engine.scan(camera(code))
  api.advance(5)
  const local = new Date(api.now.getTime() - 5000 + 345 * 60_000).toISOString().slice(11, 19)
  const said = { result: 'duplicate', message: expect.stringContaining(`at ${local} Asia/Kathmandu`) }
  expect(await phone.engine.scan(camera(code))).toMatchObject({ ...said, verified: 'online' })
  phone.network = 'down'
  api.advance(5)
  expect(await phone.engine.scan(camera(code))).toMatchObject({ ...said, verified: 'offline' })
  await phone.engine.stop()
})

test('a phone knows why an invitation does not make it a door', async () => {
  const { workspace, projectId } = await place()
  const phone = new Phone(workspace)
  await phone.open()
  const expiresAt = new Date(api.now.getTime() + 3_600_000).toISOString()
  const invite = () => workspace.ok(contract.doors.invite, { body: { projectId, gate: 'North', expiresAt } })
  const [usedUp, ended] = [await invite(), await invite()]
  await workspace.ok(contract.doors.claim, { body: { code: usedUp.code, name: 'Another' } })
  await workspace.ok(contract.doors.endInvitation, { params: { id: ended.id } })
  const codeOf = async (code: string) => (await phone.engine.claim(code, 'Phone'))?.code
  expect(await codeOf(usedUp.code)).toBe('used_up')
  expect(await codeOf(ended.code)).toBe('ended')
  expect(await codeOf('A'.repeat(26))).toBe('unknown_code')
  await phone.engine.stop()
})

test('a scan that cannot be stored has no offline decision, and is stored by the server if it is online', async () => {
  const { workspace, projectId } = await place()
  const [one, two] = [await scannablePass(workspace, { projectId }), await scannablePass(workspace, { projectId })]
  const phone = await claimedPhone(workspace, projectId)
  phone.isFull = true
  expect(await phone.engine.scan(camera(one.code))).toMatchObject({ result: 'accepted', verified: 'online' })
  expect(phone.engine.state.problems).toEqual([{ code: 'storage_full' }])
  phone.network = 'down'
  expect(await phone.engine.scan(camera(two.code))).toMatchObject({ result: 'error', failure: 'storage_full' })
  phone.isFull = false
  expect(await phone.engine.scan(camera(two.code))).toMatchObject({ result: 'accepted', verified: 'offline' })
  expect(phone.engine.state.problems).toEqual([])
  await phone.settle()
  expect(await ledger(workspace, two.id)).toHaveLength(1)
  await phone.engine.stop()
})

test('a full phone becomes a door later with the same use of the invitation', async () => {
  const { workspace, projectId } = await place()
  const phone = new Phone(workspace)
  await phone.open()
  phone.isFull = true
  const expiresAt = new Date(api.now.getTime() + 3_600_000).toISOString()
  const { code } = await workspace.ok(contract.doors.invite, { body: { projectId, gate: 'North', expiresAt } })
  expect(await phone.engine.claim(code, 'phone')).toMatchObject({ code: 'storage_full' })
  expect(phone.engine.state).toMatchObject({ door: null, problems: [{ code: 'storage_full' }] })
  phone.isFull = false
  expect(await phone.engine.claim(code, 'phone')).toBe(null)
  await phone.until(({ connection, list }) => connection === 'online' && list !== null)
  expect(phone.engine.state.problems).toEqual([])
  await phone.engine.stop()
})

test('reports an undo that the server rejects, and keeps the entry', async () => {
  const { workspace, projectId } = await place()
  const pass = await scannablePass(workspace, { projectId })
  const phone = await claimedPhone(workspace, projectId)
  const { engine } = phone
  // The server has the scan of this door. The phone uploads it again as the next door.
  phone.network = 'deaf'
  await engine.scan(camera(pass.code))
  await phone.revoke()
  api.advance(5)
  phone.network = 'up'
  engine.retry()
  await phone.until(({ problems }) => problems.some(({ code }) => code === 'revoked'))
  await claim(phone, projectId)
  await phone.settle()
  const [first] = engine.state.recent
  expect(first).toMatchObject({ result: 'accepted', isPending: false })
  const { accepted } = engine.state.counts
  const undone = await engine.undo(first!)
  expect(undone).toMatchObject({ result: 'error', failure: 'of_another', label: pass.label, isPending: false })
  expect(undone.message).toBe('A door can reverse only its own scans.')
  await phone.until(({ recent }) => recent.every(({ isUndone }) => !isUndone))
  expect(engine.state).toMatchObject({ counts: { accepted }, problems: [{ code: 'rejected', scans: 1 }] })
  expect(await ledger(workspace, pass.id)).toMatchObject([{ result: 'accepted' }])
  phone.network = 'down'
  api.advance(10)
  expect(await engine.scan(camera(pass.code))).toMatchObject({ result: 'duplicate', verified: 'offline' })
  await engine.stop()
})

test('an undo of a scan that was already reversed succeeds', async () => {
  const { workspace, projectId } = await place()
  const pass = await scannablePass(workspace, { projectId })
  const phone = await claimedPhone(workspace, projectId)
  const { engine } = phone
  const scanned = await engine.scan(camera(pass.code))
  await workspace.ok(contract.scans.reverse, { params: { id: scanned.scanId! }, body: {} })
  expect(await engine.undo(scanned)).toMatchObject({ failure: null, isPending: false })
  await phone.until(({ recent }) => recent.some(({ isUndone }) => isUndone))
  expect(engine.state).toMatchObject({ pending: 0, problems: [] })
  expect(await ledger(workspace, pass.id)).toMatchObject([{ result: 'accepted' }, { result: 'reversal' }])
  phone.network = 'down'
  api.advance(10)
  expect(await engine.scan(camera(pass.code))).toMatchObject({ result: 'accepted', verified: 'offline' })
  await engine.stop()
})

test('reports a wrong clock, and dates scans by the server anyway', async () => {
  const { workspace, projectId } = await place()
  const pass = await scannablePass(workspace, { projectId })
  const phone = new Phone(workspace)
  phone.clockSkewMs = 30 * 60_000
  await phone.open()
  await claim(phone, projectId)
  const [problem] = phone.engine.state.problems
  expect(problem).toMatchObject({ code: 'clock_wrong' })
  expect(Math.abs((problem as { byMs: number }).byMs - 30 * 60_000)).toBeLessThan(2_000)
  phone.network = 'down'
  await phone.open()
  const { scannedAt } = await phone.engine.scan(camera(pass.code))
  expect(Math.abs(Date.parse(scannedAt) - api.now.getTime())).toBeLessThan(2_000)
  await phone.engine.stop()
})

test('asks the browser to persist storage whenever a door page opens, since it may not have before', async () => {
  const { workspace, projectId } = await place()
  const phone = new Phone(workspace)
  phone.isKept = false
  await phone.open()
  await claim(phone, projectId)
  expect(phone.engine.state.isPersistent).toBe(false)
  await phone.engine.stop()
  // The page is now on the home screen.
  phone.isKept = true
  await phone.open()
  await phone.until(({ isPersistent }) => isPersistent === true)
  await phone.engine.stop()
})

test('reports storage that the browser removed and what was lost, while the page is open and after', async () => {
  const { workspace, projectId } = await place()
  const pass = await scannablePass(workspace, { projectId })
  const phone = await claimedPhone(workspace, projectId)
  phone.network = 'down'
  await phone.engine.scan(camera(pass.code))
  await phone.until(({ pending }) => pending === 1)
  await phone.engine.stop()
  await phone.evict()
  await phone.open()
  expect(phone.engine.state).toMatchObject({ door: null, problems: [{ code: 'storage_lost', pending: 1 }] })
  await phone.open()
  expect(phone.engine.state.problems).toEqual([{ code: 'storage_lost', pending: 1 }])
  await phone.engine.dismiss('storage_lost')
  expect(phone.engine.state.problems).toEqual([])
  phone.network = 'up'
  await claim(phone, projectId)
  await phone.evict()
  phone.onLost()
  await phone.until(({ problems }) => problems.length > 0)
  expect(phone.engine.state).toMatchObject({ door: null, problems: [{ code: 'storage_lost', pending: 0 }] })
  await phone.engine.stop()
})

test('an older server counts as offline, and is reported', async () => {
  const { workspace, projectId } = await place()
  const pass = await scannablePass(workspace, { projectId })
  const phone = await claimedPhone(workspace, projectId)
  phone.network = 'older'
  phone.engine.retry()
  await phone.until(({ connection }) => connection === 'offline')
  expect(phone.engine.state.problems).toEqual([{ code: 'server_too_old' }])
  expect(await phone.engine.scan(camera(pass.code))).toMatchObject({ result: 'accepted', verified: 'offline' })
  await phone.settle()
  expect(phone.engine.state.problems).toEqual([])
  await phone.engine.stop()
})

test('without the server finds names, lists candidates of ambiguous codes, and admits groups together', async () => {
  const { workspace, projectId } = await place()
  const passes = []
  for (const label of ['Ada', 'Bea', 'Cara'])
    passes.push(await scannablePass(workspace, { projectId, label, code: 'us' }))
  for (const { id } of passes) {
    await workspace.ok(contract.passes.update, { params: { id }, body: { groupKey: 'family' } })
  }
  const phone = await claimedPhone(workspace, projectId)
  const { engine } = phone
  phone.network = 'down'
  const which = await engine.scan(camera('us'))
  expect(which).toMatchObject({ result: 'ambiguous', verified: 'offline' })
  expect(which.candidates.map(({ label }) => label)).toEqual(['Ada', 'Bea', 'Cara'])
  const [found] = await engine.search('bea', 5)
  expect(found).toMatchObject({ passId: passes[1]!.id, standing: '' })
  const bea = await engine.scan({ passId: found!.passId, method: 'chosen' })
  expect(bea).toMatchObject({ result: 'accepted', group: { size: 3, used: 1 } })
  const others = await engine.scanAll(bea.group!.open.map(({ passId }) => passId))
  expect(others.map(({ result, group }) => [result, group?.used])).toEqual([
    ['accepted', 2],
    ['accepted', 3],
  ])
  expect(await engine.findGroup(passes[0]!.id)).toMatchObject({ size: 3, used: 3, open: [] })
  // The question which pass is meant does not count as a rejection.
  await phone.until(({ counts }) => counts.accepted === 3)
  expect(engine.state.counts.turnedAway).toBe(0)
  await engine.stop()
})
