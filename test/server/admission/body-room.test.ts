import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { ErrorBody } from '../../../src/core/contract/schemas/common.ts'
import { createBodyRoom, createInFlight } from '../../../src/server/admission/in-flight.ts'
import { TestWorkspace, useApi } from '../../support/api.ts'
import { makeProject, passBody, publishedTemplate } from '../fixtures.ts'

const MIB = 1024 * 1024

test('limits reserved bytes per workspace and in total, and frees them at the end', () => {
  const room = createBodyRoom({ processBytes: 30, workspaceBytes: 20 })
  const [first, second, other] = [room.enter('a'), room.enter('a'), room.enter('b')]
  first.reserve(15)
  expect(() => second.reserve(6)).toThrow(
    expect.objectContaining({ code: 'TOO_MANY_REQUESTS', headers: expect.objectContaining({ 'retry-after': '1' }) }),
  )
  second.reserve(5)
  expect(() => other.reserve(11)).toThrow(expect.objectContaining({ code: 'SERVICE_UNAVAILABLE' }))
  other.reserve(10)
  first.leave()
  first.leave()
  second.reserve(15)
  expect(() => second.reserve(1)).toThrow(expect.objectContaining({ code: 'TOO_MANY_REQUESTS' }))
})

test('limits a door to half of the remaining body bytes, and frees them at the end', () => {
  const room = createBodyRoom({ processBytes: 100, workspaceBytes: 20 })
  const door = room.enter('a', 'door')
  door.reserve(10)
  expect(() => room.enter('a', 'door').reserve(1)).toThrow(
    expect.objectContaining({ code: 'TOO_MANY_REQUESTS', message: expect.stringMatching(/^The door /) }),
  )
  const second = room.enter('a', 'second')
  second.reserve(5)
  expect(() => second.reserve(1)).toThrow(expect.objectContaining({ code: 'TOO_MANY_REQUESTS' }))
  room.enter('a').reserve(5)
  door.leave()
  room.enter('a', 'door').reserve(5)
})

test('limits a door to half of the remaining requests in flight', () => {
  const inFlight = createInFlight()
  const fill = (door?: string) => {
    const leaves: (() => void)[] = []
    try {
      for (;;) leaves.push(inFlight.enter('a', 9, door))
    } catch (error) {
      expect(error).toMatchObject({ code: 'TOO_MANY_REQUESTS' })
    }
    return leaves
  }
  const [first, second, rest] = [fill('one'), fill('two'), fill()]
  expect([first.length, second.length, rest.length]).toEqual([5, 2, 2])
  for (const leave of [...first, ...second, ...rest]) leave()
  expect(fill('one').length).toBe(5)
})

describe('large bodies', () => {
  const api = useApi('sqlite')

  test('a workspace above its share of large bodies gets 429, and another does not', async () => {
    const [workspace, other] = [await api.workspace(), await api.workspace()]
    const headers = { 'content-length': String(8 * MIB) }
    const controllers: ReadableStreamDefaultController[] = []
    const hanging = () => new ReadableStream({ start: (controller) => void controllers.push(controller) })
    const send = (by = workspace) => by.send('POST', '/v1/passes/batch', { body: hanging(), headers })
    const first = [send(), send()]
    const refused = await send()
    expect([refused.status, (refused.body as ErrorBody).errorCode, refused.headers.get('retry-after')]).toEqual([
      429,
      'TOO_MANY_REQUESTS',
      '1',
    ])
    const others = send(other)
    for (const controller of controllers) {
      controller.enqueue(Buffer.from('{}'))
      controller.close()
    }
    for (const { status } of await Promise.all([...first, others])) expect(status).toBe(400)
    expect((await workspace.send('POST', '/v1/passes/batch', { body: {}, headers })).status).toBe(400)
  })

  test('a door with the largest reports leaves other doors and the owner their share', async () => {
    const owner = await api.workspace()
    const project = await makeProject(owner, 'Spring fair')
    const expiresAt = new Date(api.now.getTime() + 3_600_000).toISOString()
    const body = { projectId: project.id, gate: 'North', uses: 2, expiresAt }
    const { code } = await owner.ok(contract.doors.invite, { body })
    const claim = async (name: string) =>
      new TestWorkspace(api, owner.id, (await owner.ok(contract.doors.claim, { body: { code, name } })).token)
    const [hostile, honest] = [await claim('Mallory'), await claim('Anna')]
    const controllers: ReadableStreamDefaultController[] = []
    const hanging = () => new ReadableStream({ start: (controller) => void controllers.push(controller) })
    const headers = { 'content-length': String(8 * MIB) }
    const reports = [...Array(2)].map(() => hostile.send('POST', '/v1/scans/offline', { body: hanging(), headers }))
    for (const other of [honest, owner]) {
      expect((await other.send('POST', '/v1/scans', { body: { qrPayload: 'x' } })).status).toBe(200)
    }
    expect((await reports[1]!).status).toBe(429)
    for (const controller of controllers) controller.close()
    await Promise.all(reports)
  })

  test('a batch of 100 passes with 64 KiB of variables each is created', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const variables = { notes: 'x'.repeat(64 * 1024 - JSON.stringify({ notes: '' }).length) }
    const passes = Array.from({ length: 100 }, () => passBody(template.id, { variables }))
    const { totalCreated } = await workspace.ok(contract.passes.createBatch, { body: { passes } })
    expect(totalCreated).toBe(100)
  })
})
