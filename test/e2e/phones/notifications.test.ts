import { describe, expect, test } from 'vitest'
import { watchBroadcast } from '../../../src/cli/notify/notification-output.ts'
import type { Broadcast } from '../../../src/core/contract/messages/broadcasts.ts'
import type { Pass } from '../../../src/core/contract/passes.ts'
import { oneDialect, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { run } from '../support/program.ts'
import { openTerminal } from '../support/pty.ts'
import { hostServer, type TestServer } from '../support/server.ts'

const loyalty = new URL('../../../examples/loyalty/template.json', import.meta.url).pathname

describe.each(oneDialect)('on %s', (dialect) => {
  test('a notification, one for later and a broadcast reach both phones of a pass', async () => {
    const server = await hostServer({ dialect })
    const { client } = server
    const project = await client.projects.create({ body: { name: 'Phones' } })
    const [first, second] = await createPasses(server, project.id, 2)
    const folder = temporaryFolder()
    const phone = (...args: string[]) => command(server, ['device', ...args, '--data-dir', folder])
    await phone('install', first!.hostedLinks.apple!, '--platform', 'apple', '--device', 'iphone')
    await phone('install', first!.hostedLinks.google!, '--platform', 'google', '--device', 'android')
    await eventually(async () => {
      expect((await client.projects.stats({ params: { id: project.id } })).googleInstallCount).toBe(1)
    })

    const params = { id: first!.id }
    const read = (id: string) => client.notifications.get({ params: { ...params, notificationId: id } })
    const options = { google: { header: 'Tonight' } }
    const single = await client.notifications.create({ params, body: { body: 'Gate B12', options } })
    await eventually(async () => expect((await read(single.id)).status).toBe('SENT'))
    expect(await phone('open', 'iphone')).toContain('Gate B12')
    expect(await phone('open', 'android')).toContain('Tonight: Gate B12')

    const sendAt = new Date(Date.now() + 4_000)
    const body = { body: 'Doors are open', sendAt: sendAt.toISOString(), platforms: ['apple' as const] }
    const scheduled = await client.notifications.create({ params, body })
    expect(scheduled.status).toBe('SCHEDULED')
    await eventually(async () => expect((await read(scheduled.id)).status).toBe('SENT'))
    expect(Date.parse((await read(scheduled.id)).updatedAt)).toBeGreaterThanOrEqual(sendAt.getTime())

    await breakGoogle(server)
    const created = await client.broadcasts.create({ params: { id: project.id }, body: { body: 'See you' } })
    const named = { params: { id: project.id, broadcastId: (created as Broadcast).id } }
    await eventually(async () => {
      expect(await client.broadcasts.stats(named)).toMatchObject({ pending: 0, partial: 1, skipped: 1 })
    })
    expect(await client.broadcasts.get(named)).toMatchObject({ status: 'DISPATCHED', passCount: 2 })
    expect(await phone('open', 'iphone')).toContain('See you')
    const { items } = await client.notifications.list({ params: { id: second!.id } })
    expect(items).toMatchObject([{ broadcastId: named.params.broadcastId, status: 'SKIPPED' }])
  })
})

test('commands send, dry-run, watch, list, show, and cancel notifications', async () => {
  const server = await hostServer()
  const project = await server.client.projects.create({ body: { name: 'Phones' } })
  const [pass] = await createPasses(server, project.id, 3)
  const json = async (...args: string[]) => JSON.parse(await command(server, [...args, '--json']))
  const send = ['broadcast', 'send', project.id, '--message', 'See you']

  const notify = ['notify', pass!.externalPassId, '--external', '-m', 'Gate B12', '--platform', 'apple']
  expect(await json(...notify, '--at', 'in 2h')).toMatchObject({ status: 'SCHEDULED', google: { status: 'SKIPPED' } })
  const wrong = await run([...notify, '--at', 'soon'], server)
  expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining('soon is not a time')])

  expect(await json(...send, '--dry-run')).toMatchObject({ dryRun: true, passCount: 3 })
  const unasked = await run(send, server)
  expect([unasked.exitCode, unasked.stderr]).toEqual([2, expect.stringContaining('Notify 3 passes?')])
  const none = ['--where', 'variable=tier:Gold']
  for (const flags of [['--dry-run'], ['--yes', '--at', 'in 3h', '--json']]) {
    const warned = await run([...send, ...none, ...flags], server)
    expect([warned.exitCode, warned.stderr]).toEqual([0, expect.stringContaining('no issued pass matches --where')])
  }
  const silver = await run([...send, '--where', 'variable=tier:Silver', '--dry-run'], server)
  expect([silver.exitCode, silver.stderr]).toEqual([0, ''])
  const late = await run([...send, '--at', '2020-01-01T00:00:00Z', '--dry-run'], server)
  expect([late.exitCode, late.stderr]).toEqual([
    0,
    expect.stringContaining('--at is in the past: the message is sent now'),
  ])
  const unnamed = await run([...send, '--where', 'variable=tier', '--dry-run'], server)
  expect([unnamed.exitCode, unnamed.stderr]).toEqual([1, expect.stringContaining('--where variable=…: ')])
  const watched = await run([...send, '--watch', '--yes', '--json'], server)
  expect(watched.exitCode, watched.stderr).toBe(0)
  const broadcast = JSON.parse(watched.stdout)
  expect(broadcast).toMatchObject({ status: 'DISPATCHED', passCount: 3, stats: { skipped: 3, pending: 0 } })
  expect(watched.stderr).toContain('3 fanned out')

  const later = await json(...send, '--at', 'in 2h', '--yes')
  const { items } = await json('broadcast', 'list', project.id)
  expect(items).toMatchObject([{ id: later.id }, { id: broadcast.id }, { filter: { variable: ['tier:Gold'] } }])
  await command(server, ['broadcast', 'cancel', project.id, later.id])
  const watching = watchBroadcast(server.client, later)
  await expect(watching).rejects.toMatchObject({
    code: 'CANCELLED',
    message: expect.stringContaining('was canceled before'),
  })
  const gone = await run(['broadcast', 'get', project.id, later.id], server)
  expect([gone.exitCode, gone.stderr]).toEqual([1, expect.stringContaining('Broadcast not found')])
  expect(await command(server, ['broadcast', 'get', project.id, broadcast.id])).toContain('3 skipped')

  const narrow = openTerminal([...send, '--watch', '--yes'], server, { columns: 40 })
  expect(await narrow.ended).toBe(0)
  const [, ...states] = narrow.screen.raw.split('\u001B[2K').map((state) => state.split('\r')[0]!.length)
  // A state that wraps could not be erased by the next one.
  expect(Math.max(...states)).toBeLessThanOrEqual(40)
})

/** From now on, Google rejects notifications because of their quota. */
async function breakGoogle(server: TestServer): Promise<void> {
  const sandbox = (await (await fetch(`${server.url}/sandbox`)).json()) as { google: { url: string } }
  const body = JSON.stringify({ faults: ['google-quota'] })
  const headers = { 'content-type': 'application/json' }
  await fetch(`${sandbox.google.url}/faults`, { method: 'POST', headers, body })
}

async function createPasses(server: TestServer, projectId: string, howMany: number): Promise<Pass[]> {
  const push = ['template', 'push', loyalty, '--publish', '--json', '--project', projectId]
  const { templateId } = JSON.parse(await command(server, push)) as { templateId: string }
  const variables = { points: '10', tier: 'Silver', memberSince: '2020-01-01' }
  const passes = Array.from({ length: howMany }, (_, n) => ({
    templateId,
    externalPassId: `m-${n}`,
    label: 'Ada',
    variables,
  }))
  const { results } = await server.client.passes.createBatch({ body: { passes } })
  return Promise.all(
    results.map(({ pass }) =>
      eventually(async () => {
        const read = await server.client.passes.get({ params: { id: pass!.id } })
        expect(read.status).toBe('ISSUED')
        return read
      }),
    ),
  )
}

/** Runs a command that must succeed, and returns its stdout. */
async function command(server: TestServer, args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await run(args, server)
  expect(exitCode, stderr).toBe(0)
  return stdout
}
