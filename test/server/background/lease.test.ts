import { describe, expect, onTestFinished, test } from 'vitest'
import { createLease, startScheduler } from '../../../src/server/background/scheduler.ts'
import { insertPasses, newPass } from '../../storage/fixtures.ts'
import { dialects } from '../../support/databases.ts'
import { openServices, type TestServices } from '../jobs/fixtures.ts'

/** Creates the lease of the scheduler. Only its holder runs the schedules. */
const open = (services: TestServices) => createLease(services, 'scheduler')

describe.each(dialects)('on %s', (dialect) => {
  test('one of any number of processes holds the lease until it ends', async () => {
    const services = await openServices(dialect)
    const leases = Array.from({ length: 8 }, () => open(services))
    const holds = () => Promise.all(leases.map((lease) => lease.hold()))
    const first = await holds()
    expect(first.filter(Boolean)).toHaveLength(1)
    for (let second = 0; second < 12; second += 1) {
      services.advance(1)
      expect(await holds()).toEqual(first)
    }
  })

  test("another process takes over within 5 seconds of the holder's death, and the returning one is notified", async () => {
    const services = await openServices(dialect)
    const [dead, other] = [open(services), open(services)]
    expect(await dead.hold()).toBe(true)
    services.advance(4.999)
    expect(await other.hold()).toBe(false)
    services.advance(0.001)
    expect(await other.hold()).toBe(true)
    expect(await dead.hold()).toBe(false)
  })

  test('another process takes over at once from one that stops', async () => {
    const services = await openServices(dialect)
    const [leaving, other] = [open(services), open(services)]
    await leaving.hold()
    expect(await other.hold()).toBe(false)
    await leaving.release()
    expect(await other.hold()).toBe(true)
    await leaving.release()
    expect(await open(services).hold()).toBe(false)
  })

  test('a clock set an hour forward or back leaves the lease with a living holder', async () => {
    const services = await openServices(dialect)
    const [holder, other] = [open(services), open(services)]
    await holder.hold()
    for (const seconds of [3600, -3600, -3600]) {
      services.advance(seconds)
      expect(await holder.hold()).toBe(true)
      expect(await other.hold()).toBe(false)
    }
    // The holder stops while the clock is set back. The next one must not wait an hour for the lease to end.
    services.advance(-3600)
    expect(await other.hold()).toBe(true)
  })

  test('a scheduler does nothing while another one runs, and takes over when that stops', async () => {
    const services = await openServices(dialect)
    const { store, workspaceId } = services
    const [first, second] = [startScheduler(services), startScheduler(services)]
    onTestFinished(() => second.stop())
    await first.tick()
    const [id] = await insertPasses(store, workspaceId, [newPass(services.version)])
    await store.transaction((tx) => tx.jobs.claim('issuing', services.clock(), { limit: 1, leaseSeconds: 1 }))
    const status = async () => (await store.passes.find(workspaceId, id!))?.status
    await first.stop()
    services.advance(1)
    expect(await status()).toBe('ISSUING')
    await second.tick()
    expect(await status()).toBe('QUEUED')
  })
})
