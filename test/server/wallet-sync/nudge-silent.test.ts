import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { Pass } from '../../../src/core/contract/passes.ts'
import { NUDGED_A_RUN, nudgeSilent } from '../../../src/server/wallet-sync/repeat-pushes.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { issuedPass } from '../fixtures.ts'
import { usePhones } from '../inbound/phones.ts'

const MINUTE = 60
const HOUR = 3600
const DAY = 24 * HOUR

describe.each(dialects)('silent phones, on %s', (dialect) => {
  const api = useApi(dialect)
  const phones = usePhones(api)

  const change = async (workspace: TestWorkspace, { id }: Pass, label: string) => {
    await workspace.ok(contract.passes.update, { params: { id }, body: { label } })
    await api.runJobs()
  }
  const fetchLatest = (workspace: TestWorkspace, pass: Pass) =>
    api.services.store.transaction(async (tx) => {
      const { walletVersion } = (await tx.passes.find(workspace.id, pass.id))!
      await tx.registrations.setFetched(workspace.id, pass.id, walletVersion, api.now)
    })
  /** Returns the devices of a pass that one run of the schedule pushes to. */
  const nudged = async (workspace: TestWorkspace, { id }: Pass) => {
    await nudgeSilent(api.services)
    await api.runJobs()
    const devices = await api.services.store.registrations.list(workspace.id, [id])
    return devices.filter(({ pushedAt }) => pushedAt?.getTime() === api.now.getTime()).length
  }
  /** Returns the minutes with pushes, among the given ones, and the number of pushed phones. */
  const watch = async (workspace: TestWorkspace, pass: Pass, minutes: number[]) => {
    const start = api.now.getTime()
    const pushes: [number, number][] = []
    for (const minute of minutes) {
      api.advance(minute * MINUTE - (api.now.getTime() - start) / 1000)
      const devices = await nudged(workspace, pass)
      if (devices > 0) pushes.push([minute, devices])
    }
    return pushes
  }
  const looks = [1, 9, 10, 11, 20, 59, 60, 61, 70, 120, 1439, 1440, 1441, 1500, 3000, 9000]

  test('each is pushed after ten minutes, an hour and a day, and never more for that version', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    await phones.addApple(workspace.id, pass.id)
    await phones.addApple(workspace.id, pass.id)
    await change(workspace, pass, 'Grace')
    expect(await watch(workspace, pass, looks)).toEqual([
      [10, 2],
      [60, 2],
      [1440, 2],
    ])
    // A manual push does not restart the schedule.
    expect(await workspace.ok(contract.wallets.nudge, { body: {} })).toMatchObject({ devices: 0 })
    await api.services.store.transaction((tx) => tx.heldPasses.settle(workspace.id, [pass.id]))
    expect(await workspace.ok(contract.wallets.nudge, { body: {} })).toMatchObject({ devices: 2 })
    await api.runJobs()
    expect(await watch(workspace, pass, looks)).toEqual([])
    // A new version starts the schedule again.
    await change(workspace, pass, 'Ada')
    expect(await watch(workspace, pass, looks)).toHaveLength(3)
  })

  test('does not push phones that have fetched, and stores nothing when all have', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    await phones.addApple(workspace.id, pass.id)
    await phones.addApple(workspace.id, pass.id)
    await change(workspace, pass, 'Grace')
    await fetchLatest(workspace, pass)
    expect(await watch(workspace, pass, [10, 20])).toEqual([[10, 1]])
    await fetchLatest(workspace, pass)
    expect(
      await watch(
        workspace,
        pass,
        looks.map((minute) => minute + 40),
      ),
    ).toEqual([])
    expect(await api.database.reader('nudges').where({ pass_id: pass.id })).toEqual([])
  })

  test('times that passed without a server are one push, and a manual push counts for the interval', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    await phones.addApple(workspace.id, pass.id)
    await api.services.store.transaction((tx) => tx.heldPasses.settle(workspace.id, [pass.id]))
    await change(workspace, pass, 'Grace')
    expect(await watch(workspace, pass, [120, 121, 130, 200])).toEqual([[120, 1]])
    api.advance(DAY - 200 * MINUTE - 5 * MINUTE)
    expect(await workspace.ok(contract.wallets.nudge, { body: {} })).toMatchObject({ devices: 1 })
    await api.runJobs()
    expect(await watch(workspace, pass, [5, 6, 20, 60])).toEqual([])
  })

  test('pushes many devices in parts, each once, without delaying other workspaces', async () => {
    const [crowd, other] = [await api.workspace(), await api.workspace()]
    const [shown, own] = [await issuedPass(crowd), await issuedPass(other)]
    await phones.addApple(other.id, own.id)
    await change(crowd, shown, 'Grace')
    await change(other, own, 'Grace')
    const { writer } = api.database
    const { walletVersion } = (await api.services.store.passes.find(crowd.id, shown.id))!
    const at = api.now.getTime()
    const registration = {
      workspace_id: crowd.id,
      pass_id: shown.id,
      push_token: 'push',
      registered_at: at,
      pushed_at: at,
    }
    const rows = Array.from({ length: NUDGED_A_RUN + 5 }, (_, n) => ({
      ...registration,
      device_id: `crowd-${n}`,
      pushed_version: walletVersion,
      fetched_version: 0,
    }))
    await writer.batchInsert('apple_registrations', rows, 100)
    await api.services.store.transaction((tx) =>
      tx.nudges.insert(crowd.id, [{ passId: shown.id, version: walletVersion }], api.now),
    )
    const forgotten = async () => {
      await nudgeSilent(api.services)
      const { n } = (await writer('apple_registrations')
        .where({ pass_id: shown.id, pushed_version: 0 })
        .count({ n: '*' })
        .first())!
      return Number(n)
    }
    api.advance(10 * MINUTE)
    expect(await forgotten()).toBe(NUDGED_A_RUN)
    expect(await api.database.reader('apple_registrations').where({ pass_id: own.id }).pluck('pushed_version')).toEqual(
      [0],
    )
    api.advance(MINUTE)
    expect(await forgotten()).toBe(NUDGED_A_RUN + 5)
    api.advance(MINUTE)
    expect(await forgotten()).toBe(NUDGED_A_RUN + 5)
    expect((await api.services.metrics.nudges.get()).values[0]!.value).toBeGreaterThanOrEqual(NUDGED_A_RUN + 6)
  })

  test('passes whose phones all have the version finish in one run, regardless of their number', async () => {
    const workspace = await api.workspace()
    const { writer } = api.database
    const rows = Array.from({ length: 1_200 }, (_, n) => ({
      pass_id: `00000000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`,
      workspace_id: workspace.id,
      version: 2,
      pushed_at: 1,
      due_at: 2,
    }))
    await writer.batchInsert('nudges', rows, 100)
    await nudgeSilent(api.services)
    expect(await writer('nudges').where({ workspace_id: workspace.id })).toEqual([])
  })

  test('two concurrent servers push each phone once', async () => {
    const workspace = await api.workspace()
    const passes = [await issuedPass(workspace), await issuedPass(workspace)]
    for (const pass of passes) {
      await phones.addApple(workspace.id, pass.id)
      await change(workspace, pass, 'Grace')
    }
    api.advance(10 * MINUTE)
    const counted = async () => (await api.services.metrics.nudges.get()).values[0]!.value
    const before = await counted()
    await Promise.all([nudgeSilent(api.services), nudgeSilent(api.services), nudgeSilent(api.services)])
    expect((await counted()) - before).toBe(2)
  })
})
