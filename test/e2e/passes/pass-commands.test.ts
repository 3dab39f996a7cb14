import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { execa } from 'execa'
import { describe, expect, test } from 'vitest'
import { Pass } from '../../../src/core/contract/passes.ts'
import { eventually } from '../../support/eventually.ts'
import { environment, onlyAnswers, publishVersion, type Setup, sharedSetUp } from '../support/bulk-setup.ts'
import { program, run } from '../support/program.ts'
import { openTerminal } from '../support/pty.ts'

const setUp = sharedSetUp()
/** For tests of many passes, which need not be issued. */
const setUpUnissued = sharedSetUp(onlyAnswers)

/** Runs a command with --json and reads its one value. */
async function json({ server, folder }: Setup, ...args: string[]) {
  const { exitCode, stdout } = await run([...args, '--json'], server, { cwd: folder })
  return { exitCode, value: JSON.parse(stdout) }
}

async function createPasses({ server, templateId }: Setup, count: number, prefix = 'T'): Promise<string[]> {
  const ids: string[] = []
  for (let at = 0; at < count; at += 100) {
    const passes = Array.from({ length: Math.min(100, count - at) }, (_, index) => ({
      externalPassId: `${prefix}-${at + index}`,
      label: index % 2 === 0 ? 'Ada "the, Countess"' : 'Grace',
      templateId,
      variables: { seat: String((at + index) % 3) },
    }))
    const { results } = await server.client.passes.createBatch({ body: { passes } })
    ids.push(...results.map(({ pass }) => pass!.id))
  }
  return ids
}

// The command sees HTTP only; what each database answers is tested with the interface.
describe('over HTTP', () => {
  test('reads all pages of a list as NDJSON, CSV, and a table, each pass once', async () => {
    const setup = await setUpUnissued()
    const { server } = setup
    const ids = await createPasses(setup, 210)
    const ndjson = await run(['pass', 'list', '--all', '--json', '--sort-by', 'createdAt'], server)
    expect([ndjson.exitCode, ndjson.stderr]).toEqual([0, '210 passes'])
    const passes = ndjson.stdout.split('\n').map((line) => Pass.parse(JSON.parse(line)))
    expect(new Set(passes.map(({ id }) => id))).toEqual(new Set(ids))
    expect(passes).toHaveLength(210)

    const csv = await run(['pass', 'list', '--all', '--csv'], server)
    const rows: Record<string, string>[] = parse(csv.stdout, { columns: true })
    expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(ids))
    expect(rows.find(({ externalPassId }) => externalPassId === 'T-0')).toMatchObject({
      label: 'Ada "the, Countess"',
      revision: '1',
      smartLink: expect.stringContaining(`${server.url}/l/`),
      variables: '{"seat":"0"}',
    })

    const table = await run(['pass', 'list', '--all'], server)
    expect(table.stdout.split('\n')).toHaveLength(211)
  })
})

test('a list is one page unless more is requested, and the total is on stderr', async () => {
  const setup = await setUpUnissued()
  await createPasses(setup, 25)
  const page = await json(setup, 'pass', 'list', '--limit', '10')
  expect(page).toMatchObject({ exitCode: 0, value: { total: 25, limit: 10, hasMore: true } })
  const next = await json(setup, 'pass', 'list', '--limit', '20', '--cursor', page.value.nextCursor)
  expect(next.value).toMatchObject({ total: 25, offset: 10, hasMore: false, nextCursor: null })
  expect(next.value.items).toHaveLength(15)
  const people = await run(['pass', 'list'], setup.server)
  expect(people.stderr).toContain('20 of 25 shown. To show more, add --all, or --limit up to 100.')
  expect((await run(['pass', 'list', '--search', 'T-7'], setup.server)).stderr).toBe('1 pass')

  const chosen = ['pass', 'list', '--limit', '3', '--columns', 'externalPassId,status', '--sort']
  // Columns that the server can sort are sorted across all pages.
  const csv = await run([...chosen, 'externalPassId', '--csv'], setup.server)
  expect(csv.stdout).toMatch(/^externalPassId,status\nT-0,\w+\nT-1,\w+\nT-10,\w+$/)
  expect((await run([...chosen, 'seats'], setup.server)).stderr).toMatch(
    /Column seats not found\n.*externalPassId, label/,
  )
  const lines = await run(['pass', 'list', '--jsonl', '--limit', '2'], setup.server)
  expect(lines.stdout.split('\n').map((line) => Pass.parse(JSON.parse(line)))).toHaveLength(2)
  const none = await run(['webhook', 'list'], setup.server)
  expect(none).toMatchObject({ stdout: '', stderr: 'There is no webhook yet. Next: passes webhook create --to URL' })
})

test('filters and sorts reach the server', async () => {
  const setup = await setUp()
  const { templateId, projectId, server } = setup
  const ids = await createPasses(setup, 6)
  await eventually(async () => {
    expect((await server.client.passes.list({ query: { status: ['ISSUED'] } })).total).toBe(6)
  })
  await server.client.passes.void({ params: { id: ids[5]! } })
  const found = async (...args: string[]) => {
    const { value } = await json(setup, 'pass', 'list', '--sort-by', 'externalPassId', '--sort-dir', 'asc', ...args)
    return value.items?.map((pass: Pass) => pass.externalPassId) ?? value
  }
  expect(await found('--search', 'countess', '--status', 'ISSUED', '--status', 'QUEUED')).toEqual(['T-0', 'T-2', 'T-4'])
  expect(await found('--variable', 'seat:0', '--variable', 'seat:2', '--project', projectId)).toEqual([
    'T-0',
    'T-2',
    'T-3',
    'T-5',
  ])
  expect(await found('--template', templateId, '--no-redeemed', '--status', 'VOID')).toEqual(['T-5'])
  expect(await found('--project', 'none')).toEqual([])
})

test('the group of passes is a column of files and an option of create, update and list', async () => {
  const setup = await setUp()
  const { templateId, server, folder } = setup
  const rows = (orders: string[]) =>
    `externalPassId,label,seat,order\n${orders.map((order, n) => `G-${n},Ada,${n},${order}\n`).join('')}`
  const file = (orders: string[]) => ({ cwd: folder, input: rows(orders) })
  const column = ['-', '--group-column', 'order']
  const issued = await run(
    ['issue', ...column, '--template', templateId, '--out', '-'],
    server,
    file(['o-1', 'o-1', '']),
  )
  const links: Record<string, string>[] = parse(issued.stdout, { columns: true })
  expect([links[0]!.groupLink, links[2]!.groupLink]).toEqual([expect.stringContaining(`${server.url}/l/`), ''])
  expect(links[1]!.groupLink).toBe(links[0]!.groupLink)
  const members = async (group: string) => {
    const { value } = await json(
      setup,
      'pass',
      'list',
      '--group',
      group,
      '--sort-by',
      'externalPassId',
      '--sort-dir',
      'asc',
    )
    return value.items.map((pass: Pass) => pass.externalPassId)
  }
  expect(await members('o-1')).toEqual(['G-0', 'G-1'])
  const updated = await run(['update', ...column], server, file(['o-1', 'o-2', 'o-2']))
  expect([updated.exitCode, await members('o-1'), await members('o-2')]).toEqual([0, ['G-0'], ['G-1', 'G-2']])

  const make = ['pass', 'create', '--template', templateId, '--external-id', 'G-3', '--label', 'Eve', '--var', 'seat=3']
  expect((await json(setup, ...make, '--group', 'o-2')).value).toMatchObject({ groupKey: 'o-2' })
  expect((await json(setup, 'pass', 'update', 'G-3', '--external', '--group', 'o-1')).exitCode).toBe(0)
  expect((await json(setup, 'pass', 'update', 'G-1', '--external', '--no-group')).exitCode).toBe(0)
  expect([await members('o-1'), await members('o-2')]).toEqual([['G-0', 'G-3'], ['G-2']])
})

test.each([
  ['exclude each other', ['pass', 'list', '--csv', '--json'], 2],
  ['an invalid status', ['pass', 'list', '--status', 'LOST'], 2],
  ['an invalid ID', ['scans', 'get', 'T-1'], 2],
  ['nothing to change', ['pass', 'update', '0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10'], 2],
  ['an invalid version', ['pass', 'update', 'T-1', '--external', '--template-version', 'newest'], 2],
  ['a variable set and unset', ['pass', 'update', 'T-1', '--external', '--var', 'a=b', '--unset', 'a'], 2],
  ['a Google file', ['pass', 'preview', 'T-1', '--external', '--platform', 'google', '--out', 'x.pkpass'], 2],
])('wrong usage exits with 2 before any request: %s', async (_, args, code) => {
  const { exitCode, stderr, stdout } = await run(args, { url: 'http://127.0.0.1:1', token: 'psk_x' })
  expect([exitCode, `${stderr}${stdout}`]).toEqual([code, expect.stringMatching(/\S/)])
})

test('a rejected filter and an unknown pass exit with 1', async () => {
  const setup = await setUp()
  expect(await json(setup, 'pass', 'list', '--label-match', 'prefix')).toMatchObject({
    exitCode: 1,
    value: { error: { code: 'VALIDATION_ERROR', details: { issues: [{ path: ['labelMatch'] }] } } },
  })
  const unknown = '0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10'
  for (const args of [
    ['get', unknown],
    ['get', 'nobody', '--external'],
    ['update', 'nobody', '--external', '--label', 'Ada'],
    ['void', unknown, '--yes'],
    ['revoke-links', 'nobody', '--external', '--yes'],
    ['preview', unknown],
  ]) {
    const answer = await json(setup, 'pass', ...args)
    expect([args, answer]).toMatchObject([args, { exitCode: 1, value: { error: { code: 'PASS_NOT_FOUND' } } }])
  }
})

test('updates a pass: merged, as a dry run, guarded by its revision, and to another version', async () => {
  const setup = await setUp()
  const { server, templateId } = setup
  const [id] = await createPasses(setup, 1)
  const update = (...args: string[]) => json(setup, 'pass', 'update', 'T-0', '--external', ...args)
  const dry = await update('--label', 'Grace', '--var', 'hall=Hall = 2', '--dry-run')
  expect(dry).toMatchObject({ exitCode: 0, value: { id, label: 'Grace', revision: 2 } })
  expect(Pass.parse(dry.value)).toBeTruthy()
  expect((await json(setup, 'pass', 'get', 'T-0', '--external')).value).toMatchObject({ revision: 1 })

  const changed = await update('--label', 'Grace', '--var', 'hall=Hall = 2', '--if-match', '1')
  expect(changed.value).toMatchObject({ label: 'Grace', revision: 2, variables: { seat: '0', hall: 'Hall = 2' } })
  expect(await update('--label', 'Joan', '--if-match', '"1"')).toMatchObject({
    exitCode: 1,
    value: { error: { code: 'PRECONDITION_FAILED' } },
  })
  expect((await update('--unset', 'hall')).value.variables).toEqual({ seat: '0' })
  expect(await update('--unset', 'seat')).toMatchObject({ exitCode: 1, value: { error: { code: 'VALIDATION_ERROR' } } })

  await publishVersion(server.client, templateId)
  expect((await update('--template-version', 'latest')).value).toMatchObject({ templateVersion: 2, revision: 4 })
  expect(await update('--template-version', '1')).toMatchObject({
    exitCode: 1,
    value: { error: { code: 'TEMPLATE_VERSION_NOT_NEWER' } },
  })
  const people = await run(['pass', 'get', id!], server)
  expect(people.stdout).toMatch(/Label +Grace\n/)
})

test('revokes links and voids a pass, with --yes without a terminal', async () => {
  const setup = await setUp()
  const { server } = setup
  const [id] = await createPasses(setup, 1)
  const { value: before } = await json(setup, 'pass', 'get', id!)
  for (const command of ['void', 'revoke-links']) {
    expect(await json(setup, 'pass', command, id!)).toMatchObject({ exitCode: 2, value: { error: { code: 'USAGE' } } })
  }
  const revoked = await json(setup, 'pass', 'revoke-links', 'T-0', '--external', '--yes')
  expect(revoked).toEqual({
    exitCode: 0,
    value: { id, revokedAt: expect.stringMatching(/Z$/), revokedCount: 3 },
  })
  expect((await fetch(before.hostedLinks.smart)).status).toBe(410)
  expect((await json(setup, 'pass', 'get', id!)).value.hostedLinks.smart).not.toBe(before.hostedLinks.smart)

  expect(await json(setup, 'pass', 'void', 'T-0', '--external', '--reason', 'refunded', '--yes')).toEqual({
    exitCode: 0,
    value: { id, status: 'VOID' },
  })
  const again = await run(['pass', 'void', id!, '--yes'], server)
  expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining('PASS_ALREADY_VOIDED')])
})

test('replaces a code and changes the holder in one revision, with --yes without a terminal', async () => {
  const setup = await setUp()
  const [id] = await createPasses(setup, 1)
  const before = (await json(setup, 'pass', 'get', id!)).value
  const rotate = ['pass', 'rotate-code', 'T-0', '--external', '--if-match', '1']
  const transfer = ['pass', 'transfer', id!, '--label', 'Charles', '--var', 'seat=9', '--if-match', '2']
  for (const command of [rotate, transfer]) expect((await json(setup, ...command)).exitCode).toBe(2)
  expect(await json(setup, ...rotate, '--yes')).toMatchObject({
    exitCode: 0,
    value: { id, revision: 2, label: before.label },
  })
  const moved = { id, revision: 3, label: 'Charles', variables: { seat: '9' } }
  expect(await json(setup, ...transfer, '--yes')).toMatchObject({ exitCode: 0, value: moved })
  for (const again of [rotate, transfer]) {
    const refused = { exitCode: 1, value: { error: { code: 'PRECONDITION_FAILED' } } }
    expect(await json(setup, ...again, '--yes')).toMatchObject(refused)
  }
  expect((await fetch(before.hostedLinks.smart)).status).toBe(410)
  expect((await json(setup, 'pass', 'get', id!)).value).toMatchObject(moved)
})

test('a preview shows the data for each platform, and writes the file that a phone installs', async () => {
  const setup = await setUp()
  const [id] = await createPasses(setup, 1)
  expect(await json(setup, 'pass', 'preview', 'T-0', '--external')).toMatchObject({
    exitCode: 0,
    value: { apple: { serialNumber: id }, google: { object: { id: expect.any(String) } } },
  })
  expect((await json(setup, 'pass', 'preview', id!, '--platform', 'google')).value).toMatchObject({ apple: null })
  const written = await json(setup, 'pass', 'preview', id!, '--out', 'T-0.pkpass')
  const file = readFileSync(join(setup.folder, 'T-0.pkpass'))
  expect(written).toEqual({ exitCode: 0, value: { id, file: 'T-0.pkpass', bytes: file.length } })
  expect(file.subarray(0, 4)).toEqual(Buffer.from('PK\x03\x04', 'latin1'))
  expect(file.includes('manifest.json')).toBe(true)
})

test('on a terminal a preview is drawn, and --json writes the data', async () => {
  const setup = await setUp()
  await createPasses(setup, 1)
  const args = ['pass', 'preview', 'T-0', '--external']
  const terminal = openTerminal(args, setup.server, { rows: 60 })
  await terminal.shows('Add --json or --platform for the data')
  expect(await terminal.ended).toBe(0)
  expect(terminal.screen.text()).not.toContain('serialNumber')
  const data = openTerminal([...args, '--json'], setup.server, { rows: 200 })
  await data.shows('serialNumber')
  expect(await data.ended).toBe(0)
})

test('closing the pipe ends a long list without an error', async () => {
  const setup = await setUpUnissued()
  await createPasses(setup, 300)
  const { stdout, stderr } = await execa(`node ${program} pass list --all --json | head -n 1`, {
    cwd: setup.folder,
    env: environment(setup),
    shell: true,
  })
  expect(stdout.split('\n')).toHaveLength(1)
  expect(stderr).not.toContain('Error')
})
