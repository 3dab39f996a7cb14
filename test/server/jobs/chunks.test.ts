import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { newId } from '../../../src/core/ids.ts'
import { jobHandlers } from '../../../src/server/background/job-handlers.ts'
import type { Services } from '../../../src/server/context.ts'
import type { Priority, Queue, QueuePlace } from '../../../src/storage/jobs/job-kinds.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { issuedPass, makeProject } from '../fixtures.ts'

const inDatabase: QueuePlace = { queue: 'database', priority: 'bulk' }
const ofWebhooks: QueuePlace = { queue: 'webhooks', priority: 'interactive' }

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  let workspace: TestWorkspace

  beforeEach(async () => {
    workspace = await api.workspace()
    await api.database.writer('jobs').delete()
  })

  const claim = async ({ queue, priority }: { queue: Queue; priority?: Priority }) => {
    const { store } = api.services
    const [job] = await store.transaction((tx) =>
      tx.jobs.claim(queue, api.now, { priority, limit: 1, leaseSeconds: 10 }),
    )
    return job!
  }

  /** Runs a job on a server that is stopped before or during its first chunk. */
  async function runUntilStopped(place: QueuePlace, { chunks }: { chunks: 0 | 1 }): Promise<void> {
    const stopping = new AbortController()
    if (chunks === 0) stopping.abort()
    await runWith(place, { stopping: stopping.signal, onChunk: () => stopping.abort() })
  }

  async function runWith(place: QueuePlace, { stopping, onChunk }: { stopping?: AbortSignal; onChunk: () => void }) {
    const job = await claim(place)
    const { store } = api.services
    const transaction: Services['store']['transaction'] = async (work) => {
      const result = await store.transaction(work)
      onChunk()
      return result
    }
    const services = { ...api.services, ...(stopping && { stopping }), store: { ...store, transaction } }
    await jobHandlers[job.kind]([job], services)
  }

  /** Runs a job whose lease has ended, and which another server has claimed since. */
  async function runTooLate(place: QueuePlace): Promise<void> {
    const job = await claim(place)
    api.advance(11)
    await api.services.store.transaction((tx) => tx.jobs.release(api.now))
    await claim({ queue: 'quarantine' })
    await jobHandlers[job.kind]([job], api.services)
  }

  const jobs = (place: QueuePlace) =>
    api.database.writer('jobs').where(place).select('claim_token', 'run_at', 'attempts')

  const givenBack = () => [{ claim_token: null, run_at: api.now.getTime(), attempts: 0 }]

  async function startBroadcast() {
    const project = await makeProject(workspace)
    const params = { id: project.id }
    const { id } = (await workspace.ok(contract.broadcasts.create, { params, body: { body: 'Now' } })) as { id: string }
    return { read: () => workspace.ok(contract.broadcasts.get, { params: { ...params, broadcastId: id } }), id }
  }

  async function deleteProject() {
    const project = await makeProject(workspace)
    await issuedPass(workspace, { projectId: project.id })
    await workspace.ok(contract.projects.delete, { params: { id: project.id } })
    return () => api.database.writer('passes').where({ project_id: project.id })
  }

  /** Disables a webhook that has more pending deliveries than one job ends. */
  async function disableWebhook() {
    const body = { url: 'https://hooks.example/', events: ['pass.issued' as const] }
    const { id } = await workspace.ok(contract.webhooks.create, { body })
    const pair = { event: { id: newId(api.now), type: 'webhook.test' as const }, target: { id, generation: 1 } }
    const pairs = Array.from({ length: 2_501 }, () => pair)
    await api.services.store.transaction((tx) => tx.deliveries.insert(workspace.id, pairs, api.now))
    await workspace.ok(contract.webhooks.disable, { params: { id } })
    return async () => (await workspace.ok(contract.deliveries.list, { query: { status: 'PENDING' } })).total
  }

  test('a stopped fan-out finishes its chunk, and the next server continues at once', async () => {
    const { read } = await startBroadcast()
    await runUntilStopped(inDatabase, { chunks: 1 })
    expect(await read()).toMatchObject({ status: 'PENDING' })
    expect(await jobs(inDatabase)).toEqual(givenBack())
    await api.runJobs()
    expect(await read()).toMatchObject({ status: 'DISPATCHED' })
    expect(await jobs(inDatabase)).toEqual([])
  })

  test('a long job returns to its queue after ten seconds, so that others get its slot', async () => {
    const pending = await disableWebhook()
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    await runWith(ofWebhooks, { onChunk: () => vi.advanceTimersByTime(10_000) })
    vi.useRealTimers()
    expect(await pending()).toBe(501)
    expect(await jobs(ofWebhooks)).toEqual(givenBack())
    await api.runJobs()
    expect(await pending()).toBe(0)
    expect(await jobs(ofWebhooks)).toEqual([])
  })

  test('a fan-out whose job another server has taken over changes nothing', async () => {
    const { id } = await startBroadcast()
    await runTooLate(inDatabase)
    expect(await api.database.writer('broadcasts').where({ id }).first()).toMatchObject({ started_at: null })
    expect(await jobs(inDatabase)).toMatchObject([{ attempts: 2 }])
  })

  test('a stopping server leaves the passes of a deleted project to the next one, which detaches them', async () => {
    const left = await deleteProject()
    await runUntilStopped(inDatabase, { chunks: 0 })
    expect(await left()).toHaveLength(1)
    expect(await jobs(inDatabase)).toEqual(givenBack())
    await api.runJobs()
    expect(await left()).toEqual([])
    expect(await jobs(inDatabase)).toEqual([])
  })

  test('a server whose job was taken over detaches no pass from a deleted project', async () => {
    const left = await deleteProject()
    await runTooLate(inDatabase)
    expect(await left()).toHaveLength(1)
    expect(await jobs(inDatabase)).toMatchObject([{ attempts: 2 }])
  })

  test("a stopping server finishes a chunk of a disabled endpoint's deliveries; the next ends the others", async () => {
    const pending = await disableWebhook()
    expect(await pending()).toBe(1_501)
    await runUntilStopped(ofWebhooks, { chunks: 1 })
    expect(await pending()).toBe(501)
    expect(await jobs(ofWebhooks)).toEqual(givenBack())
    await api.runJobs()
    expect(await pending()).toBe(0)
    expect(await jobs(ofWebhooks)).toEqual([])
  })
})
