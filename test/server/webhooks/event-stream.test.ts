import { describe, expect, onTestFinished, test } from 'vitest'
import type { ErrorBody } from '../../../src/core/contract/schemas/common.ts'
import { newId } from '../../../src/core/ids.ts'
import { eventStream } from '../../../src/server/http/event-stream.ts'
import { migrate } from '../../../src/storage/db/migrate.ts'
import { createStore } from '../../../src/storage/store.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { serveApp } from '../../support/served-app.ts'

const NIL = '00000000-0000-0000-0000-000000000000'

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const store = () => api.services.store

  /** Writes an event in a separate transaction, like the change that causes it. */
  const happen = async (workspace: TestWorkspace, subject = newId(api.now)) => {
    const data = { id: subject, externalPassId: 'order-1', reason: null }
    const event = { type: 'pass.voided' as const, subject, data, correlationId: null }
    await store().transaction((tx) => tx.events.insert(workspace.id, [event], api.now))
    return subject
  }

  /** Follows the event stream of the app in this process. Returns its messages as they arrive. */
  const follow = async (workspace: TestWorkspace, { since, query = '' }: { since?: string; query?: string } = {}) => {
    const headers = { authorization: `Bearer ${workspace.token}`, ...(since && { 'last-event-id': since }) }
    const response = await api.app.fetch(new Request(`https://passes.example/v1/events${query}`, { headers }))
    const messages: { id: string; data?: { id: string; type: string; data: { id: string } } }[] = []
    let hasEnded = false
    const reader = response.body!.getReader()
    const reading = (async () => {
      for (;;) {
        const { done, value } = await reader.read()
        if (done) break
        const pieces = Buffer.from(value).toString().split('\n\n').filter(Boolean)
        // After a long silence, a stream sends a comment to show that it is alive.
        for (const text of pieces.filter((piece) => piece !== ':')) {
          const [id, data] = text.split('\n').map((line) => line.replace(/^\w*: ?/, ''))
          messages.push({ id: id!, ...(data && { data: JSON.parse(data) }) })
        }
      }
      hasEnded = true
    })()
    const close = async () => {
      await reader.cancel()
      await reading
    }
    onTestFinished(close)
    if (response.status === 200) await eventually(() => expect(messages.length).toBeGreaterThan(0))
    return { response, messages, close, hasEnded: () => hasEnded }
  }
  type Followed = Awaited<ReturnType<typeof follow>>
  const subjects = ({ messages }: Followed) => messages.flatMap(({ data }) => (data ? [data.data.id] : []))

  test('events are sent once and in order to each follower, with or without a webhook for them', async () => {
    const [workspace, stranger] = [await api.workspace(), await api.workspace()]
    await happen(workspace)
    // On PostgreSQL, an event is sent after all transactions that started before it have ended, including those of
    // other test files.
    await eventuallyAll(await follow(workspace, { since: NIL }), 2)
    const [one, other, foreign] = [await follow(workspace), await follow(workspace), await follow(stranger)]
    const told = [await happen(workspace), await happen(workspace), await happen(workspace)]
    for (const follower of [one, other]) await eventually(() => expect(subjects(follower)).toEqual(told))
    const [, { id, data }] = one.messages as [unknown, (typeof one.messages)[number]]
    expect(data).toEqual({
      id,
      type: 'pass.voided',
      timestamp: api.now.toISOString(),
      correlationId: null,
      data: data!.data,
    })
    expect(subjects(foreign)).toEqual([])
  })

  test('a follower resumes after the event that it names, and after its first one', async () => {
    const workspace = await api.workspace()
    const first = await follow(workspace)
    const told = [await happen(workspace), await happen(workspace), await happen(workspace)]
    await eventually(() => expect(subjects(first)).toEqual(told))
    const resumed = await follow(workspace, { since: first.messages[1]!.id })
    await eventually(() => expect(subjects(resumed)).toEqual(told.slice(1)))
    for (const since of [first.messages[0]!.id, NIL]) {
      const again = await follow(workspace, { since })
      await eventually(() => expect(subjects(again)).toEqual(told))
    }
    const none = await follow(workspace, { since: NIL, query: '?type=pass.issued&type=pass.failed' })
    const all = await follow(workspace, { since: NIL, query: '?type=pass.issued&type=pass.voided' })
    await eventually(() => expect(subjects(all)).toEqual(told))
    expect(subjects(none)).toEqual([])
  })

  test('an invalid or foreign ID is 400, and one past retention is 409 with the oldest', async () => {
    const [workspace, stranger] = [await api.workspace(), await api.workspace()]
    await happen(workspace)
    const [begun] = (await follow(workspace, { since: NIL })).messages
    await happen(stranger)
    const [, foreign] = await eventuallyAll(await follow(stranger, { since: NIL }), 2)
    const [, past] = await eventuallyAll(await follow(workspace, { since: NIL }), 2)
    expect(begun!.id).toBe(NIL)
    const rejection = async (since: string) => {
      const { status, body } = await workspace.send('GET', '/v1/events', { headers: { 'last-event-id': since } })
      return { status, ...(body as ErrorBody) }
    }
    for (const id of ['7', '', foreign!.id, newId(api.now)]) {
      expect(await rejection(id), id).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR' })
    }
    const before = api.now
    onTestFinished(() => {
      api.now = before
    })
    api.advance(31 * 24 * 3_600)
    expect(await rejection(past!.id)).toMatchObject({ status: 409, errorCode: 'CONFLICT', details: { oldest: null } })
    await happen(workspace)
    const [, , kept] = await eventuallyAll(await follow(workspace, { since: NIL }), 3)
    // The rejection is the same before and after the sweep.
    expect(await rejection(past!.id)).toMatchObject({ status: 409, details: { oldest: kept!.id } })
    await store().transaction((tx) => tx.retention.deleteEvents(new Date(before.getTime() + 1), 10))
    expect(await rejection(past!.id)).toMatchObject({ status: 409, details: { oldest: kept!.id } })
  })

  test('the test of a webhook is sent to its endpoint only', async () => {
    const workspace = await api.workspace()
    const endpoint = { url: 'https://hooks.example/', events: ['pass.voided'] }
    const { id } = (await workspace.send('POST', '/v1/webhooks', { body: endpoint })).body as { id: string }
    expect((await workspace.send('POST', `/v1/webhooks/${id}/test`)).status).toBe(202)
    const told = await happen(workspace)
    const followed = await follow(workspace, { since: NIL })
    await eventually(() => expect(subjects(followed)).toEqual([told]))
  })

  test('a stream ends with its token, with its workspace, and at once when the server stops', async () => {
    const ways: ((workspace: TestWorkspace) => Promise<unknown>)[] = [
      ({ id }) => api.database.writer('tokens').where({ workspace_id: id }).update({ revoked_at: 1 }),
      ({ id }) => api.database.writer('tokens').where({ workspace_id: id }).update({ expires_at: 1 }),
      ({ id }) => store().transaction((tx) => tx.workspaces.update(id, { suspendedAt: api.now })),
    ]
    for (const way of ways) {
      const workspace = await api.workspace()
      const followed = await follow(workspace)
      await way(workspace)
      api.advance(2)
      // Events after the end are not sent.
      await happen(workspace)
      await eventually(() => expect(followed.hasEnded()).toBe(true))
      expect(subjects(followed)).toEqual([])
    }
    const stop = new AbortController()
    const workspace = await api.workspace()
    const stopping = api.createApp({ ...api.services, stopping: stop.signal })
    const headers = { authorization: `Bearer ${workspace.token}` }
    const ask = () => stopping.fetch(new Request('https://passes.example/v1/events', { headers }))
    const { body } = await ask()
    const reading = new Response(body).text()
    stop.abort()
    expect(await reading).toMatch(/^(id: .*\n\n)?$/)
    expect((await ask()).status).toBe(503)
  })

  test('a workspace has at most 10 streams, which do not count as requests', async () => {
    const [workspace, other] = [await api.workspace(), await api.workspace()]
    await store().transaction((tx) => tx.limits.set(workspace.id, { requestsInFlight: 2 }))
    const streams: Followed[] = []
    for (let n = 0; n < 10; n += 1) streams.push(await follow(workspace))
    const refused = await workspace.send('GET', '/v1/events')
    expect(refused.status).toBe(429)
    expect(refused.body).toMatchObject({ details: { limit: 'eventStreams', allowed: 10, used: 10 } })
    expect((await workspace.send('GET', '/v1/projects')).status).toBe(200)
    expect((await follow(other)).response.status).toBe(200)
    expect((await workspace.send('HEAD', '/v1/events')).status).toBe(429)
    await streams.pop()!.close()
    expect((await workspace.send('HEAD', '/v1/events')).status).toBe(200)
    expect((await follow(workspace)).response.status).toBe(200)
  })

  test('concurrent events of two servers arrive once, in the same order for all followers', async () => {
    const workspace = await api.workspace()
    const followers = [await follow(workspace), await follow(workspace)]
    // Commits of another server do not wake followers of this one.
    const elsewhere = createStore(api.database)
    const written: string[] = []
    const write = async (at: typeof elsewhere) => {
      for (let n = 0; n < 15; n += 1) {
        await at.transaction(async (tx) => {
          // The order of the IDs differs from the order of the writes, because clocks of servers differ.
          const ids = [newId(new Date(api.now.getTime() - n)), newId(api.now)]
          const event = (id: string) => ({
            type: 'pass.voided' as const,
            subject: id,
            data: { id, externalPassId: id, reason: null },
            correlationId: null,
            at: new Date(api.now.getTime() - n),
          })
          await tx.events.insert(workspace.id, [event(ids[0]!)], api.now)
          await tx.events.insert(workspace.id, [event(ids[1]!)], api.now)
          written.push(...ids)
        })
      }
    }
    await Promise.all([write(elsewhere), write(store()), write(elsewhere), write(store())])
    for (const follower of followers) {
      await eventually(() => expect(subjects(follower)).toHaveLength(written.length))
      expect(subjects(follower).sort()).toEqual([...written].sort())
    }
    expect(followers[0]!.messages).toEqual(followers[1]!.messages)
    const later = await follow(workspace, { since: NIL })
    await eventually(() => expect(subjects(later)).toEqual(subjects(followers[0]!)))
  })

  test('the client reconnects automatically, and stops if the token has ended', async () => {
    const workspace = await api.workspace()
    const { client, cut } = await serveApp(api, workspace.token)
    const received: string[] = []
    let opened = 0
    const reading = (async () => {
      const onOpen = () => {
        opened += 1
      }
      for await (const { data } of client.events.follow({}, { onOpen })) received.push(String(data.id))
    })()
    const told: string[] = []
    for (let n = 0; n < 3; n += 1) {
      await eventually(() => expect(opened).toBe(n + 1))
      told.push(await happen(workspace))
      await eventually(() => expect(received).toEqual(told))
      cut()
      told.push(await happen(workspace))
    }
    await eventually(() => expect(received).toEqual(told))
    await api.database.writer('tokens').where({ workspace_id: workspace.id }).update({ revoked_at: 1 })
    api.advance(2)
    await expect(reading).rejects.toMatchObject({ status: 401 })
  })

  async function eventuallyAll(followed: Followed, count: number) {
    await eventually(() => expect(followed.messages).toHaveLength(count))
    return followed.messages
  }
})

describe('on postgres', () => {
  const api = useApi('postgres')

  test('late commits are included, and events restored from another server come first', async () => {
    const workspace = await api.workspace()
    const { database } = api
    const { store } = api.services
    const event = (subject: string) => ({
      type: 'pass.voided' as const,
      subject,
      data: { id: subject, externalPassId: subject, reason: null },
      correlationId: null,
    })
    const [early, late] = [newId(api.now), newId(api.now)]
    let commit: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      commit = resolve
    })
    const list = async () => {
      const logged = await store.eventLog.listAfter(workspace.id, { position: 0, id: NIL }, 10)
      return logged.map(({ envelope }) => JSON.parse(envelope).data.id)
    }
    let isWritten = false
    const first = store.transaction(async (tx) => {
      await tx.events.insert(workspace.id, [event(early)], api.now)
      isWritten = true
      await held
    })
    await eventually(() => expect(isWritten).toBe(true))
    await store.transaction((tx) => tx.events.insert(workspace.id, [event(late)], api.now))
    expect(await list()).toEqual([])
    commit()
    await first
    // On PostgreSQL, a reader waits for all transactions that began before it, including those of other tests.
    await eventually(async () => expect(await list()).toEqual([early, late]))

    await database.writer.raw(`update events set position = '999999999999' where subject = ?`, [late])
    expect(await list()).toEqual([early])
    await migrate(database)
    await eventually(async () => expect(await list()).toEqual([late, early]))
  })
})

test('sends keep-alive comments when idle and stops reading events for a stalled client', async () => {
  let asked = 0
  const source = async function* () {
    for (;;) {
      asked += 1
      yield []
    }
  }
  const options = { stopping: new AbortController().signal, log: undefined as never }
  const { body } = eventStream(source, {
    ...options,
    requireAllowed: async () => undefined,
    onEnd: () => undefined,
    heartbeatMs: 0,
  })
  const reader = (body as ReadableStream<Uint8Array>).getReader()
  for (let n = 1; n <= 3; n += 1) {
    expect(Buffer.from((await reader.read()).value!).toString()).toBe(':\n\n')
    expect(asked).toBe(n)
  }
  await reader.cancel()
})
