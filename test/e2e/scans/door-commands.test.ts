import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createClient } from '../../../src/client/client.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { run } from '../support/program.ts'
import { openTerminal } from '../support/pty.ts'
import { sharedServer } from '../support/server.ts'

const shared = sharedServer()
const json = async (...args: Parameters<typeof run>) => JSON.parse((await run(...args)).stdout)

test('phones are invited, listed, renamed, sent to another gate and revoked by their names', async () => {
  const server = await shared()
  const project = await server.client.projects.create({ body: { name: 'Spring fair' } })
  const invite = ['door', 'invite', '--project', 'Spring fair', '--gate', 'North <1>', '--phones', '2']
  const svg = join(temporaryFolder(), 'north.svg')
  const invited = await run([...invite, '--expires-in', '15m', '--svg', svg], server)
  expect(invited.exitCode, invited.stderr).toBe(0)
  const [, url, code] = /^Link +(\S+\/door#(\S+))$/m.exec(invited.stdout)!
  expect(url).toBe(`${server.url}/door#${code}`)
  expect(invited.stdout).toMatch(/^Phones +2$/m)
  // Standard error can be logged, so it must not contain secrets.
  expect(invited.stderr).not.toContain(code)
  const sheet = await readFile(svg, 'utf8')
  for (const part of ['North &#60;1&#62;', 'Spring fair', 'crispEdges', '1. Scan this code with the camera']) {
    expect(sheet).toContain(part)
  }
  expect(invited.stderr).toContain(`Warning: No phone can open ${server.url}`)
  expect(invited.stderr).toContain('PASSES_PUBLIC_URL')

  const { door, token } = await server.client.doors.claim({ body: { code: code!, name: 'Anna' } })
  const phone = createClient({ url: server.url, token })
  expect(await phone.tokens.current()).toMatchObject({ id: door.id, projectIds: [project.id] })
  const listed = await run(['door', 'list', '--project', 'Spring fair', '--no-revoked'], server)
  expect(listed.stdout).toMatch(/Anna +North <1>/)
  const renamed = await json(['door', 'rename', 'Anna', '--name', 'Bob', '--gate', 'South', '--json'], server)
  expect(renamed).toMatchObject({ id: door.id, name: 'Bob', gate: 'South' })
  const revoked = await run(['door', 'revoke', 'Bob', '--yes'], server)
  expect([revoked.exitCode, revoked.stdout]).toEqual([0, `Door ${door.id} is revoked.`])
  expect((await json(['door', 'list', '--revoked', '--json'], server)).items).toMatchObject([{ id: door.id }])
  expect((await run(['door', 'revoke', 'Bob', '--yes'], server)).stderr).toContain('No door is called Bob')
  await phone.close()
})

test('shows the link of an invitation even if its page cannot be written', async () => {
  const server = await shared()
  await server.client.projects.create({ body: { name: 'Winter fair' } })
  const svg = join(temporaryFolder(), 'missing', 'north.svg')
  const invited = await run(
    ['door', 'invite', '--project', 'Winter fair', '--gate', 'North', '--svg', svg, '--expires-in', '15m'],
    server,
  )
  expect(invited.exitCode).toBe(1)
  expect(invited.stdout).toMatch(/^Link +\S+\/door#\S+$/m)
  expect(invited.stderr).toContain('missing does not exist')
})

test('rejects an ended invitation, and one that lasts too long', async () => {
  const server = await shared()
  await server.client.projects.create({ body: { name: 'Autumn fair' } })
  const invite = ['door', 'invite', '--project', 'Autumn fair', '--gate', 'North', '--json']
  const { id, code } = await json(invite, server)
  expect((await json(['door', 'uninvite', id, '--json'], server)).ended).toBe(true)
  const claim = server.client.doors.claim({ body: { code, name: 'Anna' } })
  await expect(claim).rejects.toMatchObject({ status: 404 })
  expect((await run(['door', 'uninvite', id], server)).stderr).toContain('Invitation not found.')
  const long = await run([...invite.slice(0, -1), '--expires-in', '31d'], server)
  expect([long.exitCode, long.stderr]).toEqual([1, expect.stringContaining('within 30 days')])
  const none = await run([...invite.slice(0, -1), '--expires-in', 'soon'], server)
  expect([none.exitCode, none.stderr]).toEqual([2, expect.stringContaining('--expires-in must be a duration')])
})

test('on a terminal the invitation is a QR code, too', async () => {
  const server = await shared()
  await server.client.projects.create({ body: { name: 'Winter fair' } })
  const terminal = openTerminal(['door', 'invite', '--project', 'Winter fair', '--gate', 'North'], server)
  await terminal.shows('▀▄')
  await terminal.shows('To cancel the invitation')
  expect(await terminal.ended).toBe(0)
})
