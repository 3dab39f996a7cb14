import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { paginate } from '../../../src/client/client.ts'
import type { Pass } from '../../../src/core/contract/passes.ts'
import { migratedDatabase } from '../../support/databases.ts'
import { times } from '../../support/long.ts'
import {
  onlyAnswers,
  publishTicket,
  publishVersion,
  readRows,
  resume,
  type Setup,
  setUpOn,
  sharedSetUp,
  startRun,
  writeRows,
} from '../support/bulk-setup.ts'
import { run } from '../support/program.ts'
import { hostServer, startServer } from '../support/server.ts'

const setUp = sharedSetUp(onlyAnswers)

/** Enough passes to stop a run halfway: two batches can be complete, two more in flight, and one is not sent yet. */
const MANY = times(450, 800)

/** Enough passes to stop a run whose first batch is recorded. */
const SOME = times(300, 800)

const header = ['externalPassId', 'label', 'seat', 'day']

/** Creates the passes T-0, T-1, … of the template. */
async function createPasses({ server, templateId }: Setup, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `T-${index}`)
  for (let at = 0; at < count; at += 100) {
    const passes = ids.slice(at, at + 100).map((externalPassId) => {
      return { externalPassId, label: 'Ada', templateId, variables: { seat: '1', day: '2027-05-31' } }
    })
    await server.client.passes.createBatch({ body: { passes } })
  }
  return ids
}

async function allPasses({ server }: Setup): Promise<Map<string, Pass>> {
  const passes = new Map<string, Pass>()
  for await (const pass of paginate(server.client.passes.list, {})) passes.set(pass.externalPassId, pass)
  return passes
}

async function pass(setup: Setup, externalPassId: string): Promise<Pass> {
  const { items } = await setup.server.client.passes.list({ query: { externalPassId } })
  return items[0]!
}

// The command sees HTTP only; what each database answers is tested with the interface.
describe('over HTTP', () => {
  test('update changes what a row gives, keeps what it leaves empty, and removes what is marked', async () => {
    const setup = await setUp()
    const { server, folder } = setup
    await createPasses(setup, 120)
    const rows = Array.from({ length: 120 }, (_, index) => [`T-${index}`, '', String(index + 2), ''])
    rows[7] = ['T-7', 'Grace', '', '\\N']
    writeRows(setup, 'file.csv', [header, ...rows])
    const updated = await run(['update', 'file.csv', '--json'], server, { cwd: folder })
    expect([updated.exitCode, JSON.parse(updated.stdout)]).toMatchObject([
      0,
      { dryRun: false, complete: true, rows: 120, updated: 120, failed: 0, journal: 'file.csv.journal', errors: [] },
    ])
    expect(await pass(setup, 'T-119')).toMatchObject({
      label: 'Ada',
      variables: { seat: '121', day: '2027-05-31' },
      revision: 2,
    })
    const changed = await pass(setup, 'T-7')
    expect(changed).toMatchObject({ label: 'Grace', revision: 2 })
    expect(changed.variables).toEqual({ seat: '1' })

    const again = await run(['update', 'file.csv', '--restart', '--json'], server, { cwd: folder })
    expect(JSON.parse(again.stdout)).toMatchObject({ updated: 120, alreadyDone: 0 })
    expect(new Set([...(await allPasses(setup)).values()].map(({ revision }) => revision))).toEqual(new Set([2]))
  })

  test('failing rows are written with their error, fixed, and used as input', async () => {
    const setup = await setUp()
    const { server, folder } = setup
    await createPasses(setup, 120)
    const rows = Array.from({ length: 120 }, (_, index) => [`T-${index}`, 'Grace', '7', '2027-06-01'])
    rows[3]![3] = 'soon'
    rows[50]![0] = 'T-unknown'
    rows[60] = ['T-59', 'Joan', '', '']
    await server.client.passes.void({ params: { id: (await pass(setup, 'T-70')).id } })
    writeRows(setup, 'file.csv', [header, ...rows])
    const broken = await run(['update', 'file.csv', '--failures', 'failures.csv'], server, { cwd: folder })
    expect(broken.exitCode).toBe(1)
    expect(broken.stderr).toContain('Line 52 (T-unknown): PASS_NOT_FOUND: No pass has this external ID')
    expect(readRows(setup, 'failures.csv').map(({ externalPassId, error }) => [externalPassId, error])).toEqual([
      ['T-3', expect.stringMatching(/^VALIDATION_ERROR: variables\.day: /)],
      ['T-unknown', 'PASS_NOT_FOUND: No pass has this external ID'],
      ['T-59', 'externalPassId: Is already in line 61, with other content'],
      ['T-70', expect.stringMatching(/^PASS_ALREADY_VOIDED: /)],
    ])

    const mended = readFileSync(join(folder, 'failures.csv'), 'utf8')
      .replace('soon', '2027-06-02')
      .replace('T-unknown', 'T-50')
      .replace('T-59', 'T-60')
      .replace(/^T-70,.*\n/m, '')
    writeFileSync(join(folder, 'failures.csv'), mended)
    const fed = await run(['update', 'failures.csv', '--json'], server, { cwd: folder })
    expect([fed.exitCode, JSON.parse(fed.stdout)]).toMatchObject([0, { updated: 3, failed: 0 }])
    expect(await pass(setup, 'T-3')).toMatchObject({ label: 'Grace', variables: { day: '2027-06-02' } })
    expect(await pass(setup, 'T-60')).toMatchObject({ label: 'Joan' })
  })

  test('Ctrl-C during an update exits 130, and the printed command completes it with one revision per pass', async () => {
    const setup = await setUp()
    const ids = await createPasses(setup, MANY)
    writeRows(setup, 'all the seats.csv', [['externalPassId', 'seat'], ...ids.map((id) => [id, `seat of ${id}`])])
    const { child, release, through } = await startRun(setup, ['update', 'all the seats.csv'])
    child.kill('SIGINT')
    release()
    const { exitCode, stderr } = await child
    expect(exitCode).toBe(130)
    const before = [...(await allPasses(setup)).values()].filter(({ revision }) => revision === 2)
    expect(before.length).toBeLessThan(MANY)
    expect(await resume(through, stderr)).toMatchObject({ exitCode: 0 })
    const after = await allPasses(setup)
    for (const id of ids) expect(after.get(id)).toMatchObject({ revision: 2, variables: { seat: `seat of ${id}` } })
  })

  test('after SIGKILL during a void the same command continues, and accepts passes that are void', async () => {
    const setup = await setUp()
    const ids = await createPasses(setup, SOME)
    const rows = ids.map((id, index) => [index % 100 === 0 ? `${id}-unknown` : id, 'gone'])
    writeRows(setup, 'file.csv', [['externalPassId', 'reason'], ...rows])
    const args = ['void', 'file.csv', '--failures', 'failures.csv', '--yes', '--json']
    const { child, release, through } = await startRun(setup, args)
    child.kill('SIGKILL')
    release()
    await child
    const resumed = await run(args, through.server, { cwd: through.folder })
    const summary = JSON.parse(resumed.stdout)
    expect([resumed.exitCode, summary]).toMatchObject([
      1,
      { complete: true, rows: SOME, voided: 0.99 * SOME, failed: SOME / 100 },
    ])
    expect(summary.alreadyDone).toBeGreaterThan(0)
    expect(readRows(setup, 'failures.csv').map(({ externalPassId }) => externalPassId)).toEqual(
      rows.map(([id]) => id).filter((id) => id!.endsWith('unknown')),
    )
    const isVoid = ({ status }: Pass) => status === 'VOID'
    expect([...(await allPasses(setup)).values()].filter(isVoid)).toHaveLength(0.99 * SOME)
  })

  test('a dry run asks the server about every row and changes nothing', async () => {
    const setup = await setUp()
    const { server, folder } = setup
    await createPasses(setup, 3)
    writeRows(setup, 'file.csv', [header, ['T-0', 'Grace', '', ''], ['T-1', '', '', 'soon'], ['T-9', 'Joan', '', '']])
    const update = await run(['update', 'file.csv', '--dry-run', '--json'], server, { cwd: folder })
    expect([update.exitCode, JSON.parse(update.stdout)]).toMatchObject([
      1,
      { dryRun: true, rows: 3, updated: 1, failed: 2, journal: null, errors: [{ line: 3 }, { line: 4 }] },
    ])
    const voided = await run(['void', 'file.csv', '--dry-run', '--json'], server, { cwd: folder })
    expect([voided.exitCode, JSON.parse(voided.stdout)]).toMatchObject([1, { dryRun: true, voided: 2, failed: 1 }])
    for (const { revision, status } of (await allPasses(setup)).values()) {
      expect(revision).toBe(1)
      expect(status).not.toBe('VOID')
    }
    expect(existsSync(join(folder, 'file.csv.journal'))).toBe(false)
  })
})

test('a run outlasts a server that is killed and started again in the middle of its updates', async () => {
  const database = await migratedDatabase('sqlite')
  const server = await startServer({ database, ...onlyAnswers })
  const setup = await setUpOn(server)
  const ids = await createPasses(setup, SOME)
  writeRows(setup, 'file.csv', [['externalPassId', 'seat'], ...ids.map((id) => [id, '2'])])
  const { child, release } = await startRun(setup, ['update', 'file.csv', '--json'])
  await server.kill()
  release()
  await hostServer({ database, ...onlyAnswers, token: server.token, port: new URL(server.url).port })
  const { exitCode, stdout, stderr } = await child
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining('trying again in')])
  expect(JSON.parse(stdout)).toMatchObject({ complete: true, updated: SOME, failed: 0 })
  for (const { revision } of (await allPasses(setup)).values()) expect(revision).toBe(2)
})

test('an error of every row ends the run at once, and shows the command to continue after the fix', async () => {
  const setup = await setUp(onlyAnswers)
  const ids = await createPasses(setup, 120)
  writeRows(setup, 'file.csv', [['externalPassId', 'seat'], ...ids.map((id) => [id, '2'])])
  const { token, url } = setup.server
  const member = await run(['token', 'create', '--name', 'reader', '--scope', 'passes:read', '--json'], undefined, {
    env: { PASSES_DATABASE_URL: setup.server.database },
  })
  const reader = { url, token: JSON.parse(member.stdout).token as string }
  const refused = await run(['update', 'file.csv'], reader, { cwd: setup.folder })
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining('passes:write')])
  expect(refused.stderr).toContain('When the error is fixed, resume with: ')
  const allowed = await run(['update', 'file.csv', '--json'], { url, token }, { cwd: setup.folder })
  expect([allowed.exitCode, JSON.parse(allowed.stdout)]).toMatchObject([0, { updated: 120, failed: 0 }])
})

test('upgrades passes of all templates to a version; a version that is not newer fails its row', async () => {
  const setup = await setUp()
  const { server, folder, projectId, templateId } = setup
  await createPasses(setup, 2)
  const other = await publishTicket(server.client, projectId)
  await server.client.passes.create({
    body: { externalPassId: 'other', label: 'Joan', templateId: other, variables: { seat: '1' } },
  })
  await publishVersion(server.client, templateId)
  writeRows(setup, 'ids.csv', [['ticket'], ['T-0'], ['T-1'], ['other']])
  const args = ['update', 'ids.csv', '--external-id-column', 'ticket', '--json']
  const latest = await run([...args, '--template-version', 'latest'], server, { cwd: folder })
  expect([latest.exitCode, JSON.parse(latest.stdout)]).toMatchObject([0, { updated: 3 }])
  const versions = [...(await allPasses(setup)).values()].map((found) => [found.externalPassId, found.templateVersion])
  expect(new Map(versions as [string, number][])).toEqual(
    new Map([
      ['T-0', 2],
      ['T-1', 2],
      ['other', 1],
    ]),
  )
  const older = await run([...args, '--template-version', '1'], server, { cwd: folder })
  expect([older.exitCode, JSON.parse(older.stdout)]).toMatchObject([
    1,
    { updated: 1, failed: 2, errors: [{ error: expect.stringMatching(/^TEMPLATE_VERSION_NOT_NEWER: /) }, {}] },
  ])
  const nothing = await run(args, server, { cwd: folder })
  expect([nothing.exitCode, JSON.parse(nothing.stdout)]).toMatchObject([1, { error: { code: 'VALIDATION_ERROR' } }])
})

test('warns of a column that no template of the passes has', async () => {
  const setup = await setUp()
  await createPasses(setup, 1)
  writeRows(setup, 'file.csv', [
    ['externalPassId', 'seta'],
    ['T-0', '12'],
  ])
  const { exitCode, stderr } = await run(['update', 'file.csv'], setup.server, { cwd: setup.folder })
  expect([exitCode, stderr]).toEqual([
    0,
    expect.stringContaining(`Warning: Not variables of template ${setup.templateId}: seta`),
  ])
})

test('void asks for confirmation, or needs --yes without a terminal, and rejects an update journal', async () => {
  const setup = await setUp()
  const { server, folder } = setup
  await createPasses(setup, 2)
  writeRows(setup, 'file.csv', [
    ['externalPassId', 'label'],
    ['T-0', 'Grace'],
    ['T-1', 'Joan'],
  ])
  const unasked = await run(['void', 'file.csv', '--json'], server, { cwd: folder })
  expect([unasked.exitCode, JSON.parse(unasked.stdout)]).toMatchObject([2, { error: { code: 'USAGE' } }])
  expect((await run(['update', 'file.csv'], server, { cwd: folder })).exitCode).toBe(0)
  const input = readFileSync(join(folder, 'file.csv'), 'utf8')
  const piped = await run(['void', '-', '--yes', '--json'], server, { cwd: folder, input })
  expect([piped.exitCode, JSON.parse(piped.stdout)]).toMatchObject([0, { file: '-', voided: 2, journal: null }])
  const again = await run(['void', 'file.csv', '--yes', '--json'], server, { cwd: folder })
  expect([again.exitCode, JSON.parse(again.stdout)]).toMatchObject([0, { voided: 2, failed: 0, alreadyDone: 0 }])
})
