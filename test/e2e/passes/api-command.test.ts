import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { issuedPass } from '../support/passes.ts'
import { run, spawnProgram } from '../support/program.ts'
import { sharedServer } from '../support/server.ts'

const shared = sharedServer()
const icon = new URL('../../../examples/conference/images/icon.png', import.meta.url).pathname

test('sends fields as parameters of a GET and as the JSON body of other methods', async () => {
  const server = await shared()
  const call = (...args: string[]) => run(['api', ...args], server)
  const made = await call('POST', '/v1/projects', '-f', 'name=A=B', '-f', 'color:="green"')
  expect([made.exitCode, JSON.parse(made.stdout)]).toMatchObject([0, { name: 'A=B', color: 'green' }])
  const { id } = JSON.parse(made.stdout)
  await server.client.projects.create({ body: { name: 'C' } })
  const listed = await call('GET', '/v1/projects?sortBy=name', '-f', 'sortDir=asc', '-f', 'limit:=1', '--json')
  expect(JSON.parse(listed.stdout)).toMatchObject({ items: [{ id }], total: 2 })
  const changed = await run(['api', 'PATCH', `/v1/projects/${id}`, '-d', '-'], server, { input: '{"name":"D"}' })
  expect(JSON.parse(changed.stdout)).toMatchObject({ name: 'D' })
  const paged = await call('GET', '/v1/projects?limit=1&sortBy=name', '--paginate')
  expect(paged.stdout.split('\n').map((line) => JSON.parse(line).name)).toEqual(['D', 'C'])
  const head = await call('DELETE', `/v1/projects/${id}`, '--include')
  expect(head.stdout).toMatch(/^HTTP 204\n(.+: .+\n)*x-correlation-id: /)
})

test('events are printed as they come, until Ctrl-C', async () => {
  const following = spawnProgram(['api', 'GET', '/v1/events', '--include'], await shared())
  let printed = ''
  following.stdout.on('data', (text) => {
    printed += text
  })
  await eventually(() =>
    expect(printed).toMatch(/^HTTP 200\n[\s\S]*content-type: text\/event-stream[\s\S]*\n\nid: [0-9a-f-]{36}\n\n/),
  )
  following.kill('SIGINT')
  expect(await following).toMatchObject({ exitCode: 130, stderr: '' })
})

test('sends and writes the bytes of files unchanged', async () => {
  const server = await shared()
  const args = ['api', 'POST', '/v1/images', '-d', `@${icon}`, '-H', 'Content-Type: image/png', '--json']
  const image = JSON.parse((await run(args, server)).stdout)
  const uploaded = JSON.parse((await run(['image', 'upload', icon, '--json'], server)).stdout)
  expect(uploaded).toEqual(image)
  expect(image.bytes).toBe(readFileSync(icon).length)
})

test.each([
  ['an error answer', ['GET', '/v1/projects/1'], 1, 'id: Must be a UUID'],
  ['a path that names another server', ['GET', '//evil.example/v1'], 2, 'not a path of the API'],
  ['a URL in place of a path', ['GET', '@evil.example/v1'], 2, 'not a path of the API'],
  ['a field without a value', ['POST', '/v1/projects', '-f', 'name'], 2, 'must be name=value'],
  ['a field that is not JSON', ['POST', '/v1/projects', '-f', 'name:=x'], 2, 'is not JSON'],
  ['a body of a GET', ['GET', '/v1/projects', '-d', '{}'], 2, 'has no body'],
  ['pages of an operation that is not a list', ['GET', '/v1/workspace', '--paginate'], 1, 'not a page of a list'],
])('reports %s', async (_, args, exitCode, said) => {
  expect(await run(['api', ...args], await shared())).toMatchObject({
    exitCode,
    stdout: '',
    stderr: expect.stringContaining(said),
  })
})

test('notifications of a pass are listed, read and cancelled; its wallets and its workspace are shown', async () => {
  const server = await shared()
  const pass = await issuedPass(server.client)
  const named = [pass.externalPassId, '--external']
  const sent = await run(['notify', ...named, '--message', 'Later', '--at', 'in 2h', '--json'], server)
  const { id } = JSON.parse(sent.stdout)
  const listed = await run(['notification', 'list', ...named], server)
  expect(listed.stdout).toMatch(new RegExp(`${id} +SCHEDULED .* Later`))
  const read = () => run(['notification', 'get', pass.id, id, '--json'], server)
  expect(JSON.parse((await read()).stdout)).toMatchObject({ id, status: 'SCHEDULED' })
  expect((await run(['notification', 'cancel', pass.id, id], server)).exitCode).toBe(0)
  expect(JSON.parse((await read()).stdout)).toMatchObject({ error: { code: 'PASS_NOTIFICATION_NOT_FOUND' } })
  expect((await run(['pass', 'wallets', ...named], server)).stdout).toContain('No phone holds this pass yet')
  expect((await run(['workspace', 'show'], server)).stdout).toMatch(/\npasses +1 +10,000,000 +0\n/)
})

test('a template is changed and deleted, its drafts are shown and deleted', async () => {
  const server = await shared()
  const { client } = server
  const project = await client.projects.create({ body: { name: 'Fair' } })
  const { id } = await client.templates.create({ body: { name: 'Old', passType: 'generic' } })
  const definition = { design: { organizationName: 'Fair', description: 'Ticket' } }
  await client.templates.createVersion({ params: { id }, body: { definition } })
  const call = async (...args: string[]) => JSON.parse((await run(['template', ...args, '--json'], server)).stdout)
  expect(await call('update', id, '--name', 'New', '--project', project.id)).toMatchObject({
    name: 'New',
    projectId: project.id,
  })
  expect(await call('update', id, '--project', 'none')).toMatchObject({ name: 'New', projectId: null })
  expect(await call('versions', id, '--version', '1')).toMatchObject({ stage: 'draft', definition })
  expect((await run(['template', 'delete-draft', id], server)).exitCode).toBe(2)
  expect(await call('delete-draft', id, '--yes')).toMatchObject({ version: 1, deleted: true })
  expect(await call('versions', id)).toEqual([])
  expect(await call('delete', id, '--yes')).toEqual({ id, deleted: true })
  expect((await run(['template', 'get', id], server)).exitCode).toBe(1)
})
