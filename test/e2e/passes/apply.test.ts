import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { readDesiredState, SecretsFile } from '../../../src/cli/apply/files.ts'
import { planApply } from '../../../src/cli/apply/plan.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { run } from '../support/program.ts'
import { sharedServer, type TestServer } from '../support/server.ts'

const shared = sharedServer()
const icon = new URL('../../../examples/conference/images/icon.png', import.meta.url).pathname

const url = 'https://hooks.example/a'
const whole = {
  'projects/fair.json': { name: 'Spring fair', color: 'green' },
  'templates/ticket.json': {
    key: 'ticket',
    name: 'Ticket',
    project: 'Spring fair',
    passType: 'eventTicket',
    definition: {
      design: { organizationName: 'Fair', description: 'Ticket', images: { icon: '../images/icon.png' } },
    },
  },
  'webhooks/crm.json': { url, events: ['pass.issued', 'pass.voided'], description: 'CRM' },
}

function folderOf(files: Record<string, unknown>): string {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'images'))
  copyFileSync(icon, join(folder, 'images/icon.png'))
  for (const [name, content] of Object.entries(files)) write(folder, name, content)
  return folder
}

function write(folder: string, name: string, content: unknown): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content, undefined, 2))
}

async function apply(folder: string, server: TestServer, ...flags: string[]) {
  const { exitCode, stdout, stderr } = await run(['apply', folder, ...flags, '--json'], server)
  const value = JSON.parse(stdout)
  const words = (value.steps ?? []).map((step: Record<string, string>) => `${step.kind} ${step.outcome ?? step.action}`)
  return { exitCode, stderr, value, words }
}

async function countsOf({ client }: TestServer) {
  const [projects, templates, webhooks] = await Promise.all([
    client.projects.list(),
    client.templates.list(),
    client.webhooks.list(),
  ])
  return [projects.total, templates.total, webhooks.total]
}

const secretsIn = (folder: string) => JSON.parse(readFileSync(join(folder, 'webhook-secrets.json'), 'utf8'))

test('creates missing resources, updates others, and is unchanged afterwards; --plan writes nothing', async () => {
  const server = await shared()
  const folder = folderOf(whole)
  const plan = await apply(folder, server, '--plan')
  expect(plan).toMatchObject({ exitCode: 3, words: ['project create', 'template create', 'webhook create'] })
  expect(await countsOf(server)).toEqual([0, 0, 0])
  expect(existsSync(join(folder, 'webhook-secrets.json'))).toBe(false)

  const made = await apply(folder, server, '--yes', '--publish')
  expect(made).toMatchObject({ exitCode: 0, words: ['project created', 'template created', 'webhook created'] })
  const [project] = (await server.client.projects.list()).items
  const [template] = (await server.client.templates.list()).items
  expect(template).toMatchObject({ projectId: project!.id, latestPublishedVersion: 1 })
  expect(secretsIn(folder)).toEqual({ [url]: expect.stringMatching(/^whsec_/) })
  expect(statSync(join(folder, 'webhook-secrets.json')).mode & 0o777).toBe(0o600)

  const unchanged = { exitCode: 0, words: ['project unchanged', 'template unchanged', 'webhook unchanged'] }
  expect(await apply(folder, server, '--yes', '--publish')).toMatchObject(unchanged)
  expect(await apply(folder, server, '--plan', '--publish')).toMatchObject({ ...unchanged, value: { differences: 0 } })

  write(folder, 'projects/fair.json', { name: 'Spring fair', color: 'pink' })
  write(folder, 'templates/ticket.json', { ...whole['templates/ticket.json'], project: null })
  write(folder, 'webhooks/crm.json', { ...whole['webhooks/crm.json'], events: ['pass.issued'], status: 'DISABLED' })
  const { stdout } = await run(['apply', folder, '--plan'], server)
  expect(stdout.split('\n')).toEqual([
    `~ change project Spring fair (${folder}/projects/fair.json)`,
    '    - color: "green"',
    '    + color: "pink"',
    `~ change template ticket (${folder}/templates/ticket.json)`,
    '    - project: "Spring fair"',
    '    + project: null',
    `~ change webhook ${url} (${folder}/webhooks/crm.json)`,
    '    - status: "ENABLED"',
    '    + status: "DISABLED"',
    '    - events.1: "pass.voided"',
    '3 to change.',
  ])
  expect((await apply(folder, server, '--yes')).words).toEqual([
    'project updated',
    'template updated',
    'webhook updated',
  ])
  expect((await server.client.webhooks.list()).items).toMatchObject([{ events: ['pass.issued'], status: 'DISABLED' }])
  expect((await apply(folder, server, '--plan')).exitCode).toBe(0)
})

test('deletes only with --prune and confirmation or --yes; kinds without a folder stay', async () => {
  const server = await shared()
  const folder = folderOf(whole)
  const body = { url: 'https://hooks.example/other', events: ['pass.issued' as const] }
  await server.client.webhooks.create({ body })
  await server.client.projects.create({ body: { name: 'Old' } })
  const words = ['project created', 'template created', 'webhook created']
  expect(await apply(folder, server, '--yes')).toMatchObject({
    exitCode: 0,
    words: [...words, 'webhook notInFiles', 'project notInFiles'],
  })
  expect((await apply(folder, server, '--plan')).exitCode).toBe(0)
  expect((await apply(folder, server, '--plan', '--prune')).exitCode).toBe(3)
  const unasked = await apply(folder, server, '--prune')
  expect([unasked.exitCode, unasked.value.error.message]).toEqual([
    2,
    'Delete the webhook https://hooks.example/other? Cannot ask: prompts are disabled, or there is no terminal',
  ])
  expect(await countsOf(server)).toEqual([2, 1, 2])
  rmSync(join(folder, 'projects'), { recursive: true })
  expect((await apply(folder, server, '--prune', '--yes')).words.slice(-1)).toEqual(['webhook deleted'])
  expect(await countsOf(server)).toEqual([2, 1, 1])
})

test('reports every mistake with file, line, and column before sending anything', async () => {
  const server = await shared()
  const folder = folderOf({
    ...whole,
    'projects/bad.json': { name: 'Bad', colour: 'red' },
    'webhooks/bad.json': '{\n  "url": "ftp://x",\n  "events": ["pass.issued"]\n}',
    'limits.json': '{\n  "webhooks": "many"',
  })
  const { exitCode, stderr } = await run(['apply', folder, '--yes'], server)
  expect(exitCode).toBe(1)
  expect(stderr.split('\n').map((line) => line.trim())).toEqual([
    'Error: 3 files cannot be used',
    `${folder}/projects/bad.json is not the file of a project`,
    '3:13 colour: Unknown property',
    `${folder}/webhooks/bad.json is not the file of a webhook`,
    '2:10 url: Must be an absolute https address without a fragment',
    expect.stringContaining(`${folder}/limits.json:2:21 is not valid JSON`),
  ])
  for (const name of ['projects/bad.json', 'webhooks/bad.json', 'limits.json']) rmSync(join(folder, name))
  write(folder, 'templates/ticket.json', { ...whole['templates/ticket.json'], project: 'Autumn fair' })
  const wrong = await apply(folder, server, '--yes')
  expect(wrong.value.error.details.issues).toMatchObject([{ path: ['project'], line: 4, column: 14 }])
  write(folder, 'projects/twin.json', whole['projects/fair.json'])
  const twins = await apply(folder, server)
  expect([twins.exitCode, twins.value.error.message]).toEqual([
    1,
    expect.stringContaining('have the same name Spring fair'),
  ])
  expect(await countsOf(server)).toEqual([0, 0, 0])
})

test('reports a run that fails midway; the next one continues and re-creates a lost secret', async () => {
  const server = await shared()
  const folder = folderOf(whole)
  const { 'templates/ticket.json': ticket } = whole
  const design = { ...ticket.definition.design, images: { icon: '018f2f5e-7c1a-7000-8000-0123456789ab' } }
  write(folder, 'templates/broken.json', { ...ticket, key: 'broken', definition: { design } })
  const failed = await apply(folder, server, '--yes', '--publish')
  expect(failed).toMatchObject({
    exitCode: 1,
    value: { error: { code: 'VALIDATION_ERROR', message: expect.stringContaining('Image not found') } },
    stderr: expect.stringContaining('1 of 4 changes were applied. Run the command again to resume.'),
  })
  write(folder, 'templates/broken.json', { ...ticket, key: 'broken' })
  // The state after a run that created the webhook and was killed before it got the response.
  await server.client.webhooks.create({ body: { url, events: ['pass.voided', 'pass.issued'], description: 'CRM' } })
  write(folder, 'webhook-secrets.json', { [url]: null })
  const words = ['project unchanged', 'template updated', 'template created', 'webhook updated']
  expect(await apply(folder, server, '--yes', '--publish')).toMatchObject({ exitCode: 0, words })
  expect(secretsIn(folder)).toEqual({ [url]: expect.stringMatching(/^whsec_/) })
  expect(await countsOf(server)).toEqual([1, 2, 1])
  expect((await apply(folder, server, '--plan', '--publish')).exitCode).toBe(0)
})

test('two concurrent runs create nothing twice, and one of them has the secret', async () => {
  const server = await shared()
  const folders = [folderOf(whole), folderOf(whole), folderOf(whole)]
  const runs = await Promise.all(
    folders.map(async (folder) => {
      const secrets = await SecretsFile.open(join(folder, 'webhook-secrets.json'), () => undefined)
      const options = { prune: false, publish: true, secrets }
      return { secrets, steps: await planApply(server.client, await readDesiredState(folder), options) }
    }),
  )
  await Promise.all(
    runs.map(async ({ steps, secrets }) => {
      for (const step of steps) await step.carryOut!()
      await secrets.close()
    }),
  )
  expect(await countsOf(server)).toEqual([1, 1, 1])
  const [template] = (await server.client.templates.list()).items
  expect(await server.client.templateVersions.list({ query: { templateId: template!.id } })).toMatchObject([
    { version: 1, stage: 'published' },
  ])
  expect(folders.map((folder) => Object.keys(secretsIn(folder)).length).sort()).toEqual([0, 0, 1])
  for (const folder of folders) expect((await apply(folder, server, '--plan', '--publish')).exitCode).toBe(0)
})

test('compares limits, and shows the operator command, since the API cannot set them', async () => {
  const server = await shared()
  const folder = folderOf({ 'limits.json': { webhooks: 50, passes: 2000 } })
  const { exitCode, value, stderr } = await apply(folder, server, '--yes')
  expect([exitCode, value.steps]).toMatchObject([
    3,
    [{ outcome: 'operator', changes: [{ path: 'passes', after: 2000 }] }],
  ])
  expect(stderr).toMatch(/passes workspace limits [0-9a-f-]{36} --passes 2000$/m)
  write(folder, 'limits.json', { webhooks: 50 })
  expect((await apply(folder, server, '--plan')).exitCode).toBe(0)
})

test('names files and folders that are ignored: misplaced JSON, and YAML', async () => {
  const misplaced = ['project.json', 'webhooks.yaml', 'projects/gala.yml']
  const folder = folderOf({ ...whole, 'limits.json': {}, 'webhook-secrets.json': {}, 'README.md': '' })
  for (const name of misplaced) write(folder, name, {})
  const { ignored } = await readDesiredState(folder)
  expect(ignored.toSorted()).toEqual(misplaced.map((name) => join(folder, name)).toSorted())
  write(folder, 'template/day.json', {})
  write(folder, 'projects/old/gala.json', {})
  const folders = [join(folder, 'template'), join(folder, 'projects/old')]
  expect((await readDesiredState(folder)).ignored).toEqual(expect.arrayContaining(folders))
  const mistyped = folderOf({ 'template/day.json': {} })
  await expect(readDesiredState(mistyped)).rejects.toMatchObject({
    exitCode: 2,
    hint: `check the names: ${join(mistyped, 'template')}.`,
  })
})
