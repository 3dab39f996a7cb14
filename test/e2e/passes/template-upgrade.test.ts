import { execa } from 'execa'
import { describe, expect, test } from 'vitest'
import { type Client, paginate } from '../../../src/client/client.ts'
import { environment, onlyAnswers, readRows, type Setup, sharedSetUp, writeRows } from '../support/bulk-setup.ts'
import { startHeldProxy } from '../support/held-proxy.ts'
import { inspect } from '../support/passes.ts'
import { program, run } from '../support/program.ts'

/** Publishes the next version. Its passes have a seat, but some have no gate. */
async function publishNext(client: Client, templateId: string, required: string[]): Promise<void> {
  const variables = required.map((name) => ({ name, label: name, required: true }))
  const definition = { variables, design: { organizationName: 'Fair', description: 'Ticket' } }
  const { id } = await client.templates.createVersion({ params: { id: templateId }, body: { definition } })
  await client.templateVersions.publish({ params: { id } })
}

/** Creates passes T-0, T-1, …. Every tenth one has no gate. */
async function createPasses({ server, templateId }: Setup, count: number): Promise<void> {
  for (let at = 0; at < count; at += 100) {
    const passes = Array.from({ length: Math.min(100, count - at) }, (_, index) => {
      const n = at + index
      const variables = { seat: '1', ...(n % 10 > 0 && { gate: 'B' }) }
      return { externalPassId: `T-${n}`, label: 'Ada', templateId, variables }
    })
    await server.client.passes.createBatch({ body: { passes } })
  }
}

async function versions({ server }: Setup): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for await (const { templateVersion, revision, status } of paginate(server.client.passes.list, {})) {
    const key = `${status === 'VOID' ? 'void ' : ''}v${templateVersion} r${revision}`
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

// The command sees HTTP only; what each database answers is tested with the interface.
const setUp = sharedSetUp({ dialect: 'postgres', ...onlyAnswers })

describe('on postgres', () => {
  test('upgrades each pass once, and writes failed passes to a file to fix and retry', async () => {
    const setup = await setUp()
    const { server, folder, templateId } = setup
    await createPasses(setup, 130)
    const [first] = (await server.client.passes.list({ query: { externalPassId: 'T-1' } })).items
    await server.client.passes.void({ params: { id: first!.id } })
    await publishNext(server.client, templateId, ['seat', 'gate'])
    const upgrade = (...args: string[]) =>
      run(['template', 'upgrade', '--template', templateId, '--json', ...args], server, { cwd: folder })

    const dry = await upgrade('--dry-run')
    const facts = { version: 2, passes: 129, upgraded: 116, failed: 13, complete: true }
    const reason = { error: 'VALIDATION_ERROR: variables.gate: Is required (gate)', passes: 13, example: 'T-0' }
    expect([dry.exitCode, JSON.parse(dry.stdout)]).toMatchObject([1, { ...facts, dryRun: true, reasons: [reason] }])
    expect(await versions(setup)).toEqual({ 'v1 r1': 129, 'void v1 r1': 1 })

    expect((await upgrade()).exitCode).toBe(2)
    const real = await upgrade('--yes', '--failures', 'failures.csv')
    expect([real.exitCode, JSON.parse(real.stdout)]).toMatchObject([1, { ...facts, dryRun: false, reasons: [reason] }])
    expect(await versions(setup)).toEqual({ 'v1 r1': 13, 'v2 r2': 116, 'void v1 r1': 1 })

    const failures = readRows(setup, 'failures.csv')
    expect(failures[0]).toEqual({ externalPassId: 'T-0', error: reason.error })
    const mended = failures.map(({ externalPassId }) => [externalPassId!, 'C'])
    writeRows(setup, 'mended.csv', [['externalPassId', 'gate'], ...mended])
    const fed = await run(['update', 'mended.csv', '--template-version', '2', '--json'], server, { cwd: folder })
    expect(JSON.parse(fed.stdout)).toMatchObject({ updated: 13, failed: 0 })
    expect(await versions(setup)).toEqual({ 'v2 r2': 129, 'void v1 r1': 1 })

    const again = await upgrade('--yes')
    expect([again.exitCode, JSON.parse(again.stdout)]).toMatchObject([0, { passes: 0, upgraded: 0, reasons: [] }])
    const { workspaceId } = await server.client.tokens.current()
    const events = (await inspect(server.database, workspaceId).rows('events')).filter(
      ({ type }) => type === 'pass.updated',
    )
    expect(events).toHaveLength(129)
    const fields = events.map(({ data }) => JSON.parse(JSON.stringify(data)))
    expect(JSON.stringify(fields[0])).toContain('templateVersionId')
  })

  test('a whole project is upgraded, each pass to the newest version of its template, and nothing else', async () => {
    const setup = await setUp()
    const { server, projectId, templateId } = setup
    await createPasses(setup, 30)
    const { client } = server
    const make = async (project: string | undefined, externalPassId: string) => {
      const { id } = await client.templates.create({
        body: { name: 'Other', passType: 'generic', ...(project && { projectId: project }) },
      })
      await publishNext(client, id, [])
      await client.passes.create({ body: { externalPassId, label: 'Ada', templateId: id } })
      await publishNext(client, id, [])
      await publishNext(client, id, [])
    }
    await make(projectId, 'same project')
    await make(undefined, 'no project')
    await publishNext(client, templateId, [])
    const args = ['template', 'upgrade', '--project', projectId, '--yes', '--json']
    const done = await run(args, server)
    expect([done.exitCode, JSON.parse(done.stdout)]).toMatchObject([0, { version: null, passes: 31, upgraded: 31 }])
    expect(await versions(setup)).toEqual({ 'v2 r2': 30, 'v3 r2': 1, 'v1 r1': 1 })
    const human = await run(args.slice(0, -1), server)
    expect([human.exitCode, human.stdout]).toEqual([0, 'No pass is on an older version.'])
  })
})

test('rejects impossible upgrades before it asks or changes anything', async () => {
  const { server, templateId, projectId } = await setUp()
  const template = ['--template', templateId]
  for (const [args, exitCode, message] of [
    [[], 2, 'No passes are selected'],
    [['--project', projectId, '--to', '2'], 2, 'requires one template'],
    [[...template, '--to', '7'], 1, 'no published version 7'],
    [[...template, '--to', 'newest'], 2, 'a number or latest'],
    [[...template, '--status', 'VOID'], 2, '--status'],
    [['--template', projectId], 1, 'Template not found'],
  ] as const) {
    const done = await run(['template', 'upgrade', ...args], server)
    expect([done.exitCode, done.stderr], args.join(' ')).toEqual([exitCode, expect.stringContaining(message)])
  }
})

test('an interrupted upgrade that runs again moves every pass with one revision', async () => {
  const setup = await setUp()
  await createPasses(setup, 250)
  await publishNext(setup.server.client, setup.templateId, [])
  const args = ['template', 'upgrade', '--template', setup.templateId, '--yes', '--json', '--concurrency', '1']
  const proxy = await startHeldProxy(setup.server.url, 'PATCH /v1/passes/')
  const held = proxy.answer(50)
  const env = { ...environment(setup), PASSES_URL: proxy.url }
  const child = execa('node', [program, ...args], { cwd: setup.folder, env, reject: false })
  await held
  child.kill('SIGINT')
  proxy.release()
  const stopped = await child
  const { error } = JSON.parse(stopped.stdout)
  expect([stopped.exitCode, error.code]).toEqual([130, 'INTERRUPTED'])
  const { total } = await setup.server.client.passes.list({ query: { templateVersion: 'gte:2', limit: 1 } })
  expect(error.details.upgraded).toBe(total)
  expect([total >= 50, total < 250]).toEqual([true, true])
  const rest = await run(args, setup.server)
  expect(JSON.parse(rest.stdout)).toMatchObject({ complete: true, upgraded: 250 - total, failed: 0 })
  expect(await versions(setup)).toEqual({ 'v2 r2': 250 })
})
