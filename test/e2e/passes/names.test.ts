import { expect, test } from 'vitest'
import { issuedPass } from '../support/passes.ts'
import { run } from '../support/program.ts'
import { openTerminal } from '../support/pty.ts'
import { sharedServer } from '../support/server.ts'

const shared = sharedServer()

test('finds projects, templates, and webhooks by key, exact name, or start of the ID', async () => {
  const server = await shared()
  const { client } = server
  const project = await client.projects.create({ body: { name: 'Spring fair' } })
  const body = { name: 'Ticket', passType: 'generic', key: 'day', projectId: project.id } as const
  const template = await client.templates.create({ body })
  // A key takes precedence over a name.
  const other = await client.templates.create({ body: { ...body, name: 'day', key: 'other' } })
  const webhook = await client.webhooks.create({ body: { url: 'https://example.com/h', events: ['pass.issued'] } })
  const idOf = async (...args: string[]) => {
    const { stdout, stderr } = await run([...args, '--json'], server)
    return JSON.parse(stdout).id ?? stderr
  }
  expect(await idOf('project', 'get', 'Spring fair')).toBe(project.id)
  expect(await idOf('project', 'get', project.id.slice(0, 13).toUpperCase())).toBe(project.id)
  expect(await idOf('template', 'get', 'day')).toBe(template.id)
  expect(await idOf('template', 'update', 'other', '--project', 'none')).toBe(other.id)
  expect(await idOf('template', 'update', 'other', '--project', 'Spring fair')).toBe(other.id)
  expect((await client.templates.get({ params: { id: other.id } })).projectId).toBe(project.id)
  expect(await idOf('webhook', 'get', 'https://example.com/h')).toBe(webhook.id)
  const listed = await run(['template', 'list', '--project', 'Spring fair', '--project', 'none', '--json'], server)
  expect(JSON.parse(listed.stdout).total).toBe(2)
  const { name: workspace } = await client.workspace.get()
  const add = ['identity', 'add', 'google', '--name', 'acme', '--sandbox', '--issuer', '3388', '--workspace', workspace]
  const added = await run([...add, '--database', server.database, '--json'])
  const identity = JSON.parse(added.stdout || added.stderr)
  const given = ['project', 'update', 'Spring fair', '--google-identity']
  for (const [name, id] of [
    ['acme', identity.id],
    ['none', null],
  ]) {
    const { stdout, stderr } = await run([...given, name, '--json'], server)
    expect(JSON.parse(stdout), stderr).toMatchObject({ googleIdentityId: id })
  }
})

test('lists ambiguous names, reports unknown ones, and changes nothing for either', async () => {
  const server = await shared()
  const { projects } = server.client
  const twins = [await projects.create({ body: { name: 'Twin' } }), await projects.create({ body: { name: 'Twin' } })]
  for (const text of ['Twin', twins[0]!.id.slice(0, 6)]) {
    const { exitCode, stderr } = await run(['project', 'delete', text, '--yes'], server)
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(`${text} can mean any of 2 projects`)])
    for (const { id } of twins) expect(stderr).toContain(`${id} Twin`)
  }
  const unknown = await run(['project', 'delete', 'twin', '--yes'], server)
  expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining('No project is called twin')])
  expect((await projects.list()).total).toBe(2)
})

test('finds a pass by its external ID or the start of its ID', async () => {
  const server = await shared()
  const pass = await issuedPass(server.client)
  for (const text of [pass.externalPassId, pass.id, pass.id.slice(0, 18)]) {
    const { stdout } = await run(['pass', 'get', text, '--json'], server)
    expect(JSON.parse(stdout)).toMatchObject({ id: pass.id })
  }
  const unknown = await run(['pass', 'get', 'T-99'], server)
  expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining('No pass has the external ID T-99')])
  const external = await run(['pass', 'get', pass.id, '--external'], server)
  expect(external.stderr).toContain(`No pass has the external ID ${pass.id}`)
})

test('on a terminal, a missing template is selected from a list that narrows while typing', async () => {
  const server = await shared()
  const pass = await issuedPass(server.client)
  const template = await server.client.templates.get({ params: { id: pass.templateId! } })
  const terminal = openTerminal(['pass', 'create', '--external-id', 'CHOSEN-1', '--label', 'Ada'], server)
  await terminal.shows('Which template?')
  terminal.type(template.id.slice(0, 13))
  await terminal.shows(template.name)
  terminal.type('\r')
  await terminal.shows('Created.')
  expect(await terminal.ended).toBe(0)
  const piped = await run(['pass', 'create', '--external-id', 'CHOSEN-2', '--label', 'Ada'], server)
  expect([piped.exitCode, piped.stderr]).toEqual([2, expect.stringContaining('Missing required flag template')])
})
