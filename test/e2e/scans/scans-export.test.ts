import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { execa } from 'execa'
import { beforeAll, describe, expect, test } from 'vitest'
import { insertPasses } from '../../../bench/support/many-passes.ts'
import { insertScans, scanId } from '../../../bench/support/many-scans.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { cleanUpAfterAll, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { resume } from '../support/bulk-setup.ts'
import { type HeldProxy, startHeldProxy } from '../support/held-proxy.ts'
import { program, run } from '../support/program.ts'
import { hostServer, type TestServer } from '../support/server.ts'

/** More than three interrupted exports of four pages each, and not a whole number of pages. */
const SCANS = 1_250
const newestFirst = Array.from({ length: SCANS }, (_, index) => scanId(SCANS - index))

// The tests only read from this server.
const cleanUp = cleanUpAfterAll()
let server: TestServer
beforeAll(async () => {
  server = await hostServer({ cleanUp })
  const { workspaceId } = await server.client.tokens.current()
  const database = openDatabase(server.database)
  await insertPasses(database.writer, workspaceId, 20)
  await insertScans(database.writer, workspaceId, SCANS, 20)
  await database.close()
})

async function setUp() {
  const proxy = await startHeldProxy(server.url, 'GET /v1/scans')
  const setup = { server: { ...server, url: proxy.url }, folder: temporaryFolder(), projectId: '', templateId: '' }
  return { setup, proxy }
}

type Setup = Awaited<ReturnType<typeof setUp>>['setup']

/** Starts an export and stops it while it waits for a page in the middle. */
async function stopped({ server, folder }: Setup, proxy: HeldProxy, args: string[], signal: 'SIGINT' | 'SIGKILL') {
  const held = proxy.answer(4)
  const env = { PASSES_URL: server.url, PASSES_TOKEN: server.token, XDG_CONFIG_HOME: folder }
  const child = execa('node', [program, 'scans', 'export', ...args], { cwd: folder, env, reject: false })
  await held
  child.kill(signal)
  return child
}

const idsOf = (csv: string) => (parse(csv, { columns: true }) as { id: string }[]).map(({ id }) => id)

// The command sees HTTP only; what each database answers is tested with the interface.
describe('on sqlite', () => {
  test('a repeatedly interrupted export ends with exactly the ledger', async () => {
    const { setup, proxy } = await setUp()
    const path = join(setup.folder, 'ledger.csv')
    let said = ''
    for (const signal of ['SIGINT', 'SIGKILL', 'SIGINT'] as const) {
      const { exitCode, stderr } = await stopped(setup, proxy, ['--out', 'ledger.csv'], signal)
      if (signal === 'SIGKILL') continue
      expect([exitCode, stderr]).toEqual([130, expect.stringContaining('Stopped: ')])
      expect(existsSync(`${path}.journal`)).toBe(true)
      said = stderr
    }
    // The number of rows that the killed run recorded depends on timing. That of the first run does not.
    expect(said).toMatch(/^Resuming after the first [4-8]00 scans, which an earlier run wrote$/m)
    proxy.release()
    const end = await resume(setup, said)
    expect([end.exitCode, end.stderr]).toEqual([0, expect.stringContaining('1,250 scans in ledger.csv')])
    expect(idsOf(readFileSync(path, 'utf8'))).toEqual(newestFirst)
    expect(existsSync(`${path}.journal`)).toBe(false)
    const again = ['scans', 'export', '--out', 'ledger.csv', '--result', 'denied']
    const rejected = await run(again, setup.server, { cwd: setup.folder })
    expect([rejected.exitCode, rejected.stderr]).toEqual([1, 'Error: ledger.csv already exists; --force replaces it.'])
    expect(idsOf(readFileSync(path, 'utf8'))).toEqual(newestFirst)
    expect(await run([...again, '--force'], setup.server, { cwd: setup.folder })).toMatchObject({ exitCode: 0 })
  })

  test('an export to stdout names the cursor to resume from, and both parts are the ledger', async () => {
    const { setup, proxy } = await setUp()
    const first = await stopped(setup, proxy, ['--format', 'csv'], 'SIGINT')
    expect(first.exitCode).toBe(130)
    proxy.release()
    const rest = await resume(setup, first.stderr)
    expect(rest.exitCode).toBe(0)
    expect(idsOf(`${first.stdout}\n${rest.stdout}`)).toEqual(newestFirst)
  })
})

test('every filter reaches the server, and an export equals the list, with holder names', async () => {
  const { setup, proxy } = await setUp()
  proxy.release()
  const { server } = setup
  const query = { result: ['denied' as const], reason: ['quota_exhausted' as const], scanContextKey: ['context 10'] }
  const filters = ['--result', 'denied', '--reason', 'quota_exhausted', '--context', 'context 10']
  const { stdout } = await run(['scans', 'export', '--json', ...filters, '--from', '2026-07-01T00:00:00.100Z'], server)
  const listed = await server.client.scans.list({ query: { ...query, from: '2026-07-01T00:00:00.100Z', limit: 100 } })
  expect(listed.total).toBeGreaterThan(10)
  const { items } = await server.client.passes.list({ query: { limit: 100 } })
  const labelOf = (id: string | null) => items.find(({ externalPassId }) => externalPassId === id)?.label
  expect(stdout.split('\n').map((line) => JSON.parse(line))).toEqual(
    listed.items.map((scan) => ({ ...scan, label: labelOf(scan.externalPassId), door: null })),
  )
  const ofPass = await run(['scans', 'export', '--format', 'jsonl', '--pass', 'ext-3', '--external'], server)
  const passes = ofPass.stdout.split('\n').map((line) => JSON.parse(line).externalPassId)
  expect([passes.length, new Set(passes)]).toEqual([Math.ceil((SCANS - 1) / 20), new Set(['ext-3'])])
})

test.each([
  ['--json with csv', ['--json', '--format', 'csv']],
  ['a cursor for a file', ['--out', 'x.csv', '--cursor', 'x']],
  ['a restart without a file', ['--restart']],
  ['--external without a pass', ['--external']],
  ['an invalid result', ['--result', 'maybe']],
])('wrong usage exits 2: %s', async (_, args) => {
  const { exitCode } = await run(['scans', 'export', ...args], { url: 'http://127.0.0.1:1', token: 'psk_x' })
  expect(exitCode).toBe(2)
})

test.each([
  [['scans', 'export', '--out', '-'], /^id,/],
  [['scans', 'prove', '--out', '-'], /^\{/],
] as const)('%j writes to stdout and creates no file of that name', async (args, start) => {
  const { setup, proxy } = await setUp()
  proxy.release()
  const database = args[1] === 'prove' ? ['--database', setup.server.database] : []
  // Scans are chained within a second or so, and prove needs a chain.
  await eventually(async () => {
    const { exitCode, stdout } = await run([...args, ...database], setup.server, { cwd: setup.folder })
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(start)])
  })
  expect(existsSync(join(setup.folder, '-'))).toBe(false)
})

test('closing the pipe ends an export without an error', async () => {
  const { setup, proxy } = await setUp()
  proxy.release()
  const env = { PASSES_URL: setup.server.url, PASSES_TOKEN: setup.server.token, XDG_CONFIG_HOME: setup.folder }
  const { stdout, stderr } = await execa(`node ${program} scans export | head -n 2`, { shell: true, env })
  expect(stdout.split('\n')).toHaveLength(2)
  expect(stderr).not.toContain('Error')
})
