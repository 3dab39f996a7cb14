import { execa } from 'execa'
import { expect, test } from 'vitest'
import { type Client, paginate } from '../../../src/client/client.ts'
import { environment, type Setup, sharedSetUp } from '../support/bulk-setup.ts'
import { startHeldProxy } from '../support/held-proxy.ts'
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

async function versions({ server, templateId }: Setup): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for await (const { templateVersion, revision, status } of paginate(server.client.passes.list, { templateId })) {
    const key = `${status === 'VOID' ? 'void ' : ''}v${templateVersion} r${revision}`
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

const setUp = sharedSetUp()

test('upgrades a canary and then the other passes, and reports those that do not fit', async () => {
  const setup = await setUp()
  const { server, templateId } = setup
  await createPasses(setup, 130)
  const [first] = (await server.client.passes.list({ query: { templateId, externalPassId: 'T-1' } })).items
  await server.client.passes.void({ params: { id: first!.id } })
  await publishNext(server.client, templateId, ['seat', 'gate'])
  const upgrade = async (...args: string[]) => {
    const done = await run(['template', 'upgrade', templateId, '--json', ...args], server)
    return { exitCode: done.exitCode, stderr: done.stderr, result: done.stdout ? JSON.parse(done.stdout) : undefined }
  }

  await server.client.templates.createVersion({ params: { id: templateId }, body: {} })
  const facts = { to: 2, status: 'DONE', matched: 129, failed: 13 }
  const dry = await upgrade('--dry-run')
  expect([dry.exitCode, dry.result]).toMatchObject([1, { ...facts, dryRun: true, upgraded: 116 }])
  expect(dry.stderr).toContain('Version 3 is a draft: latest is the newest published version.\n')
  expect(dry.stderr).toContain('13 × variables.gate: Is required (gate) (such as T-0)')
  expect(await versions(setup)).toEqual({ 'v1 r1': 129, 'void v1 r1': 1 })

  expect((await upgrade()).exitCode).toBe(2)
  const canary = await upgrade('--where', 'variable=gate:B', '--limit', '8', '--yes')
  const filter = { variable: ['gate:B'] }
  expect([canary.exitCode, canary.result]).toMatchObject([0, { filter, limit: 8, matched: 8, upgraded: 8 }])
  const rest = await upgrade('--yes')
  expect([rest.exitCode, rest.result]).toMatchObject([1, { ...facts, upgraded: 108, unchanged: 8 }])
  expect(await versions(setup)).toEqual({ 'v1 r1': 13, 'v2 r2': 116, 'void v1 r1': 1 })

  const { id } = rest.result
  const shown = await run(['upgrade', 'get', templateId, id], server)
  expect(shown.stdout).toMatch(/Version +2\n(?:.*\n)*Upgraded +108\n/)
  expect(shown.stderr).toContain('13 × variables.gate')
  const listed = await run(['upgrade', 'list', templateId, '--json'], server)
  const { items } = JSON.parse(listed.stdout)
  expect(items.slice(0, 2).map((one: { id: string }) => one.id)).toEqual([id, canary.result.id])
  const ended = await run(['upgrade', 'cancel', templateId, id, '--json'], server)
  expect(JSON.parse(ended.stdout)).toMatchObject({ id, status: 'DONE' })
})

test('rejects impossible upgrades before it changes anything', async () => {
  const { server, templateId, projectId } = await setUp()
  for (const [args, exitCode, message] of [
    [[templateId, '--to', '7', '--yes'], 1, 'does not have this published version'],
    [[templateId, '--to', 'newest'], 2, 'a number or "latest"'],
    [[templateId, '--limit', '0'], 2, '--limit'],
    [[projectId, '--yes'], 1, 'Template not found.'],
  ] as const) {
    const done = await run(['template', 'upgrade', ...args], server)
    expect([done.exitCode, done.stderr], args.join(' ')).toEqual([exitCode, expect.stringContaining(message)])
  }
})

test('Ctrl-C leaves the upgrade to the server, and upgrade get --watch waits for it', async () => {
  const setup = await setUp()
  const { server, templateId, folder } = setup
  await createPasses(setup, 250)
  await publishNext(server.client, templateId, [])
  const proxy = await startHeldProxy(server.url, `GET /v1/templates/${templateId}/upgrades/`)
  const held = proxy.answer(0)
  const env = { ...environment(setup), PASSES_URL: proxy.url }
  const child = execa('node', [program, 'template', 'upgrade', templateId, '--yes'], {
    cwd: folder,
    env,
    reject: false,
  })
  await held
  child.kill('SIGINT')
  proxy.release()
  const stopped = await child
  expect([stopped.exitCode, stopped.stderr]).toEqual([130, expect.stringContaining('the upgrade continues')])
  const [, upgradeId] = new RegExp(`passes upgrade cancel ${templateId} ([^"]+)"`).exec(stopped.stderr)!
  const watched = await run(['upgrade', 'get', templateId, upgradeId!, '--watch', '--json'], server)
  expect([watched.exitCode, JSON.parse(watched.stdout)]).toMatchObject([0, { status: 'DONE', upgraded: 250 }])
  expect(await versions(setup)).toEqual({ 'v2 r2': 250 })
})
