import { readdirSync, statSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openSqliteTables } from '../../../src/cli/console/offline/sqlite-tables.ts'
import { TableStore } from '../../../src/door/engine/store/table-store.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { issueWithCodes, ledger, tallyOf } from '../support/door.ts'
import { run } from '../support/program.ts'
import { openTerminal } from '../support/pty.ts'
import { hostServer, type TestServer } from '../support/server.ts'

const CTRL_C = '\u0003'

/** Returns the paths of all files in a folder and its subfolders. */
function filesBelow(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names.map((name) => join(folder, name)).filter((path) => statSync(path).isFile())
}

/** Waits until the console has stored a list with this number of passes. */
async function listIsStored(folder: string, passes: number): Promise<void> {
  await eventually(async () => {
    const path = filesBelow(folder).find((name) => name.endsWith('door.db'))
    const store = new TableStore(await openSqliteTables(path!))
    const { list } = await store.summary()
    await store.close()
    expect(list).toMatchObject({ size: passes })
  })
}

/** Starts a stopped server again, with the same database and address. */
function startAgain({ database, token, url }: TestServer): Promise<TestServer> {
  return hostServer({ database, token, port: new URL(url).port })
}

test('killed servers and consoles lose and repeat no scan', async () => {
  const server = await hostServer()
  const codes = Array.from({ length: 12 }, (_, n) => `PASS-${n}`)
  await issueWithCodes(server.client, codes)
  const state = temporaryFolder()
  const open = () => openTerminal(['scan', '--no-input', '--gate', 'North'], server, { env: { XDG_STATE_HOME: state } })

  const first = open()
  await first.shows('Scan a pass')
  await listIsStored(state, codes.length)
  first.type('PASS-0\rPASS-1\r')
  await first.shows('✔ 2 accepted')
  // The list of the console still admits the pass.
  const { items } = await server.client.passes.list({ query: { externalPassId: ['PASS-5'] } })
  await server.client.passes.void({ params: { id: items[0]!.id } })
  await server.stop()

  // The first scanner has not scanned yet.
  await first.shows('▲ OFFLINE since')
  first.type('PASS-4\rPASS-5\rNOBODY\rPASS-6\r')
  await first.shows('✔ 5 accepted · ✘ 1 turned away')
  await first.shows('4 pending')
  first.kill('SIGKILL')
  await first.ended

  const second = open()
  await second.shows('▲ OFFLINE since')
  await second.shows('4 pending')
  // The previous scanner admitted these passes online and offline. The list does not show that.
  second.type('PASS-0\rPASS-4\r')
  await second.shows('✘ 2 turned away')
  second.type('PASS-7\r')
  await second.shows('7 pending')
  expect(second.screen.text()).toMatch(/List \d+ (s|min) old .* 12 passes/)
  for (const path of filesBelow(state)) expect([path, statSync(path).mode & 0o777]).toEqual([path, 0o600])

  const again = await startAgain(server)
  await second.shows('● online')
  await second.shows('≠ 1 conflict')
  second.type('PASS-8\r')
  await second.shows('✔ 2 accepted')
  second.type(CTRL_C)
  expect(await second.ended).toBe(130)
  expect(second.screen.text()).not.toContain('wait')

  const all = await ledger(again.client)
  expect(all.map(({ externalPassId, result, verified }) => [externalPassId, result, verified])).toEqual([
    ['PASS-0', 'accepted', 'online'],
    ['PASS-1', 'accepted', 'online'],
    ['PASS-4', 'accepted', 'offline'],
    ['PASS-5', 'accepted', 'offline'],
    [null, 'denied', 'offline'],
    ['PASS-6', 'accepted', 'offline'],
    ['PASS-0', 'denied', 'offline'],
    ['PASS-4', 'denied', 'offline'],
    ['PASS-7', 'accepted', 'offline'],
    ['PASS-8', 'accepted', 'online'],
  ])
  const conflicts = all.filter((item) => item.metadata.conflict !== undefined)
  expect(conflicts.map((item) => [item.externalPassId, item.metadata.conflict])).toEqual([['PASS-5', 'revoked']])
})

/** Starts a proxy between a console and its server, which can withhold responses. */
async function startProxy(target: string) {
  let isMute = false
  const sockets = new Set<Socket>()
  const proxy = createServer((near) => {
    const far = connect(Number(new URL(target).port), '127.0.0.1')
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
    }
    near.on('data', (data) => far.write(data))
    far.on('data', (data) => isMute || near.write(data))
    near.on('close', () => far.destroy())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  const { port } = proxy.address() as { port: number }
  return { url: `http://127.0.0.1:${port}`, mute: (value: boolean) => (isMute = value) }
}

test('a scan that the server recorded without responding is in the ledger once', async () => {
  const server = await hostServer()
  await issueWithCodes(server.client, ['PASS-0', 'PASS-1'])
  const proxy = await startProxy(server.url)
  const state = temporaryFolder()
  const door = openTerminal(
    ['scan', '--no-input'],
    { url: proxy.url, token: server.token },
    { env: { XDG_STATE_HOME: state } },
  )
  await door.shows('Scan a pass')
  await listIsStored(state, 2)
  proxy.mute(true)
  door.type('PASS-0\rPASS-1\r')
  await door.shows('▲ OFFLINE since')
  await door.shows('✔ 2 accepted')
  proxy.mute(false)
  await door.shows('● online')
  const items = await ledger(server.client)
  const decisions = items.map(({ externalPassId, result, verified }) => [externalPassId, result, verified])
  expect(decisions.toSorted()).toEqual([
    ['PASS-0', 'accepted', 'online'],
    ['PASS-1', 'accepted', 'offline'],
  ])
  expect(door.screen.text()).not.toContain('conflict')
})

test('two consoles of one door keep separate decisions and use those of both', async () => {
  const server = await hostServer()
  const codes = Array.from({ length: 16 }, (_, n) => `PASS-${n}`)
  await issueWithCodes(server.client, codes)
  const state = temporaryFolder()
  const open = () => openTerminal(['scan', '--no-input'], server, { env: { XDG_STATE_HOME: state } })
  const [one, other] = [open(), open()]
  await Promise.all([one.shows('Scan a pass'), other.shows('Scan a pass')])
  await listIsStored(state, codes.length)
  await server.stop()
  one.type(`${codes.slice(0, 8).join('\r')}\r`)
  other.type(`${codes.slice(8).join('\r')}\r`)
  await Promise.all([one.shows('✔ 8 accepted'), other.shows('✔ 8 accepted')])
  other.type('PASS-3\r')
  await other.shows('A L R E A D Y   U S E D')
  const again = await startAgain(server)
  await Promise.all([one.shows('● online'), other.shows('● online')])
  const items = await ledger(again.client)
  const accepted = items.filter((item) => item.result === 'accepted')
  expect(tallyOf(accepted.map((item) => item.externalPassId))).toEqual(tallyOf(codes))
  expect(items).toHaveLength(17)
})

test('decides nothing without the server if the workspace forbids offline scanning', async () => {
  const server = await hostServer()
  await issueWithCodes(server.client, ['PASS-0'])
  const database = ['--database', server.database]
  const { exitCode } = await run(['workspace', 'offline-scanning', 'default', 'off', ...database])
  expect(exitCode).toBe(0)
  const door = openTerminal(['scan', '--no-input'], server, { env: { XDG_STATE_HOME: temporaryFolder() } })
  await door.shows('● online, without an offline list')
  await server.stop()
  door.type('PASS-0\r')
  await door.shows('N O T   C H E C K E D')
  expect(door.screen.text()).toContain('this workspace forbids it')
  const again = await startAgain(server)
  door.type('PASS-0\r')
  await door.shows('A C C E P T E D')
  expect(await ledger(again.client)).toHaveLength(1)
})

test('scan --stdin decides each line in order, with and without the server', async () => {
  const server = await hostServer()
  await issueWithCodes(server.client, ['PASS-0', 'PASS-1', 'PASS-2'])
  const env = { PASSES_URL: server.url, PASSES_TOKEN: server.token, XDG_STATE_HOME: temporaryFolder() }
  const scan = (lines: string) => run(['scan', '--stdin', '--context', 'pipe'], server, { input: lines, env })
  const read = (stdout: string) => stdout.split('\n').map((line) => JSON.parse(line))

  const online = await scan('PASS-0\r\nPASS-0\n\nNOBODY\n')
  expect(online.exitCode).toBe(0)
  expect(read(online.stdout).map(({ payload, result, verified }) => [payload, result, verified])).toEqual([
    ['PASS-0', 'accepted', 'online'],
    ['PASS-0', 'duplicate', 'online'],
    ['NOBODY', 'unknown', 'online'],
  ])
  await listIsStored(env.XDG_STATE_HOME, 3)
  await server.stop()
  const offline = await scan('PASS-0\nPASS-1\n')
  expect(read(offline.stdout).map(({ result, verified }) => [result, verified])).toEqual([
    ['duplicate', 'offline'],
    ['accepted', 'offline'],
  ])
  expect(offline.stderr).toContain('2 decisions are not uploaded')
  const again = await startAgain(server)
  const back = await scan('PASS-1\nPASS-2\n')
  expect(read(back.stdout).map(({ result, verified }) => [result, verified])).toEqual([
    ['duplicate', 'online'],
    ['accepted', 'online'],
  ])
  expect(tallyOf((await ledger(again.client)).map((item) => item.verified))).toEqual({ online: 5, offline: 2 })
})
