import { describe, expect, test } from 'vitest'
import { ApiError, type Client } from '../../../src/client/client.ts'
import type { Pass } from '../../../src/core/contract/passes.ts'
import { dialects, type TestDialect } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { times } from '../../support/long.ts'
import { batchOf, inspect, publishTemplate } from '../support/passes.ts'
import { sharedServers, type TestServer } from '../support/server.ts'

const RACES = times(24, 200)
const UPDATES = times(20, 50)
const VOIDS = times(16, 60)
const BATCH = times(5, 25)

/** Creates passes with a batch and returns them. */
async function makePasses(client: Client, count: number): Promise<Pass[]> {
  const templateId = await publishTemplate(client)
  const { results } = await client.passes.createBatch({ body: { passes: batchOf(templateId, 'race', count) } })
  return results.map(({ pass }) => pass!)
}

/**
 * Starts two servers on one database, so that no state in a process can order the requests. Each test has its own
 * workspace.
 */
function shareTwo(dialect: TestDialect) {
  const shared = sharedServers(2, { dialect })
  return async () => {
    const [first, second] = (await shared()) as [TestServer, TestServer]
    const { workspaceId } = await first.client.tokens.current()
    const clients = [first.client, second.client] as const
    return { clients, ...inspect(first.database, workspaceId), logs: () => [first.stderr(), second.stderr()] }
  }
}

/** Returns the status of a response: 200, or the status of its error. */
async function statusOf(answer: Promise<unknown>): Promise<number> {
  try {
    await answer
    return 200
  } catch (error) {
    if (error instanceof ApiError) return error.status
    throw error
  }
}

describe.each(dialects)('two servers on one %s database', (dialect) => {
  const startTwo = shareTwo(dialect)

  test('take turns without an error, and issue each pass once', async () => {
    const { clients, passes, logs } = await startTwo()
    const before = logs()
    const templateId = await publishTemplate(clients[0])
    const created = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        clients[n % 2]!.passes.createBatch({ body: { passes: batchOf(templateId, `batch-${n}`, BATCH) } }),
      ),
    )
    expect(created.map(({ totalCreated }) => totalCreated)).toEqual(created.map(() => BATCH))
    await eventually(async () => {
      const unissued = (await passes()).filter(({ status, issuedEvents }) => status !== 'ISSUED' || issuedEvents !== 1)
      expect(unissued).toEqual([])
    })
    expect(await passes()).toHaveLength(8 * BATCH)
    expect(logs()).toEqual(before)
  })

  test(`one of two updates with one If-Match succeeds and the other gets 412, in ${RACES} races`, async () => {
    const { clients, rows } = await startTwo()
    const [{ id }] = (await makePasses(clients[0], 1)) as [Pass]
    for (let revision = 1; revision <= RACES; revision += 1) {
      const answers = clients.map((client, n) => {
        const body = { label: `server ${n} at ${revision}` }
        return client.passes.update({ params: { id }, headers: { 'if-match': `"${revision}"` }, body })
      })
      const statuses = await Promise.all(answers.map(statusOf))
      expect(statuses.toSorted()).toEqual([200, 412])
      const winner = await answers[statuses.indexOf(200)]!
      expect(await clients[revision % 2]!.passes.get({ params: { id } })).toMatchObject({
        revision: revision + 1,
        label: winner.label,
      })
    }
    const events = await rows('events')
    expect(events.filter(({ type }) => type === 'pass.updated')).toHaveLength(RACES)
  })

  test(`${UPDATES} concurrent updates are as many revisions, each emitted once`, async () => {
    const { clients, rows } = await startTwo()
    const [{ id }] = (await makePasses(clients[0], 1)) as [Pass]
    const answers = await Promise.all(
      Array.from({ length: UPDATES }, (_, n) =>
        clients[n % 2]!.passes.update({ params: { id }, body: { variables: { [`from${n}`]: n } } }),
      ),
    )
    const revisions = answers.map(({ revision }) => revision).toSorted((a, b) => a - b)
    expect(revisions).toEqual(Array.from({ length: UPDATES }, (_, n) => n + 2))
    const pass = await clients[0].passes.get({ params: { id } })
    // No update overwrote a concurrent one.
    expect(Object.keys(pass.variables)).toHaveLength(UPDATES)
    expect((await rows('events')).filter(({ type }) => type === 'pass.updated')).toHaveLength(UPDATES)
    expect(await rows('pass_variables')).toHaveLength(UPDATES)
    expect((await rows('pass_identifiers')).filter(({ active }) => Boolean(active))).toHaveLength(1)
  })

  test('a void that races an update and the worker ends VOID; the update precedes it or is rejected', async () => {
    const { clients, rows } = await startTwo()
    const passes = await makePasses(clients[0], VOIDS)
    const outcomes = await Promise.all(
      passes.map(async ({ id }, n) => {
        const update = () => statusOf(clients[n % 2]!.passes.update({ params: { id }, body: { label: 'changed' } }))
        const voiding = () => statusOf(clients[(n + 1) % 2]!.passes.void({ params: { id }, body: {} }))
        const [first, second] = n % 4 < 2 ? [update, voiding] : [voiding, update]
        const answers = await Promise.all([first(), second()])
        return { id, updated: answers[first === update ? 0 : 1], voided: answers[first === update ? 1 : 0] }
      }),
    )
    const [stored, events] = [await rows('passes'), await rows('events')]
    for (const { id, updated, voided } of outcomes) {
      expect(voided).toBe(200)
      expect([200, 409]).toContain(updated)
      const row = stored.find((pass) => pass.id === id)!
      const isUpdated = updated === 200
      expect(row).toMatchObject({
        status: 'VOID',
        revision: isUpdated ? 2 : 1,
        wallet_version: isUpdated ? 3 : 2,
        label: isUpdated ? 'changed' : expect.stringContaining('Guest'),
      })
      const types = events.filter(({ subject }) => subject === id).map(({ type }) => type)
      const expected = [...(isUpdated ? ['pass.updated'] : []), 'pass.voided']
      expect(types.filter((type) => type !== 'pass.issued').toSorted()).toEqual(expected)
      expect(await clients[0].passes.get({ params: { id } })).toMatchObject({ status: 'VOID' })
    }
  })
})
