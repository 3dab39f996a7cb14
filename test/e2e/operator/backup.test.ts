import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { verify } from '../../../src/core/rules/crypto/signature.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { emptyDatabase, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { startReceiver } from '../../support/receiver.ts'
import { batchOf, inspect, issuedPass, publishTemplate } from '../support/passes.ts'
import { run } from '../support/program.ts'
import { hostServer, startServer, type TestServer } from '../support/server.ts'

const args = ['--allow-insecure-webhooks']
const fileOf = (database: string) => database.replace('sqlite:', '')

test('a backup under load holds all acknowledged writes, and a server continues with it elsewhere', async () => {
  const receiver = await startReceiver()
  const server = await startServer({ args })
  const { client, token } = server
  const webhook = await client.webhooks.create({ body: { url: receiver.url, events: ['pass.voided'] } })
  const early = await issuedPass(client)
  const load = startLoad(server, await publishTemplate(client))
  await eventually(() => expect(load.acknowledged.size).toBeGreaterThan(60))
  const before = [...load.acknowledged]
  const file = join(temporaryFolder(), 'passes.backup')
  const sizeBefore = load.acknowledged.size
  const made = await run(['backup', file, '--database', server.database, '--json'])
  expect(made.exitCode, String(made.stderr)).toBe(0)
  expect(String(made.stderr)).toContain('The copy does not contain the server key')
  expect(JSON.parse(String(made.stdout))).toMatchObject({ file, bytes: statSync(file).size })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readdirSync(dirname(file))).toEqual(['passes.backup'])
  await eventually(() => expect(load.acknowledged.size).toBeGreaterThan(sizeBefore))
  await load.stop()
  expect(load.refused).toEqual([])
  await server.stop()

  const elsewhere = await emptyDatabase('sqlite')
  const restored = await run(['restore', file, '--database', elsewhere, '--json'])
  expect(restored.exitCode, String(restored.stderr)).toBe(0)
  expect(JSON.parse(String(restored.stdout))).toMatchObject({ replaced: null, applied: [], key: 'missing' })
  expect(String(restored.stderr)).toContain('put the key of the backup there')
  copyFileSync(`${fileOf(server.database)}.key`, `${fileOf(elsewhere)}.key`)
  const second = await hostServer({ database: elsewhere, token, args })
  const stored = new Map((await inspect(elsewhere).passes()).map((pass) => [pass.externalPassId, pass.id]))
  for (const [externalPassId, id] of before) expect(stored.get(externalPassId), externalPassId).toBe(id)

  const link = new URL(early.hostedLinks.smart!)
  const page = await fetch(`${second.url}${link.pathname}`, { redirect: 'manual' })
  expect(page.status, await page.text()).toBe(200)
  await second.client.passes.void({ params: { id: early.id }, body: {} })
  await eventually(() => expect(receiver.received).toHaveLength(1))
  const { body, signature } = receiver.received[0]!
  expect(verify(body, signature, webhook.secret, { at: new Date() })).toMatchObject({ ok: true })
  expect((await second.client.passes.list({ query: { search: 'guest 1', limit: 1 } })).total).toBeGreaterThan(0)
  const { items } = JSON.parse(
    String((await run(['audit', 'list', '--database', elsewhere, '--action', 'database', '--json'])).stdout),
  )
  expect(items).toMatchObject([{ action: 'database.restore', tokenId: null, workspaceId: null }])
  expect(items[0].actor).toMatch(/^.+@.+: passes restore$/)
})

test('a restore rejects an open database, and needs --force for one with data, which it keeps', async () => {
  const server = await startServer()
  const onDatabase = ['--database', server.database]
  const folder = temporaryFolder()
  const file = join(folder, 'copy')
  await issuedPass(server.client)
  expect((await run(['backup', file, ...onDatabase])).exitCode).toBe(0)
  const again = await run(['backup', file, ...onDatabase])
  expect([again.exitCode, String(again.stderr)]).toEqual([1, expect.stringContaining('--force replaces it')])
  expect((await run(['backup', file, '--force', ...onDatabase])).exitCode).toBe(0)
  await publishTemplate(server.client)
  const open = await run(['restore', file, '--force', ...onDatabase])
  expect([open.exitCode, String(open.stderr)]).toEqual([1, expect.stringContaining('stop the servers')])
  expect((await server.client.templates.list()).total).toBe(2)

  await server.kill()
  const full = await run(['restore', file, ...onDatabase])
  expect([full.exitCode, String(full.stderr)]).toEqual([1, expect.stringContaining('contains data')])
  const tagBefore = await walletTag(server.database)
  const forced = await run(['restore', file, '--force', ...onDatabase, '--json'])
  expect(forced.exitCode, String(forced.stderr)).toBe(0)
  const { replaced, key } = JSON.parse(String(forced.stdout))
  expect(key).toBe('matches')
  expect(await inspect(`sqlite:${replaced}`).rows('templates')).toHaveLength(2)
  expect(await inspect(server.database).rows('templates')).toHaveLength(1)
  expect(statSync(fileOf(server.database)).mode & 0o777).toBe(0o600)
  // Phones are never told about a change that they have seen.
  expect(await walletTag(server.database)).toBeGreaterThan(tagBefore + 1_000)
  const next = await hostServer({ database: server.database, token: server.token })
  expect((await next.client.passes.list()).items.map(({ label }) => label)).toEqual(['Ada'])
})

test('rejects files that are not sound backups of this program, and changes nothing', async () => {
  const server = await hostServer()
  await issuedPass(server.client)
  await server.stop()
  const folder = temporaryFolder()
  const good = join(folder, 'good')
  expect((await run(['backup', good, '--database', server.database])).exitCode).toBe(0)
  const [text, empty, cut, newer] = ['text', 'empty', 'cut', 'newer'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
    string,
  ]
  writeFileSync(text, 'This is no database, but long enough to be looked at.\n'.repeat(100))
  writeFileSync(empty, '')
  copyFileSync(good, cut)
  truncateSync(cut, 4096 * 20)
  // Copy it without its checksum, which would be wrong.
  copyFileSync(good, newer)
  truncateSync(newer, Math.floor(statSync(good).size / 4096) * 4096)
  const database = openDatabase(`sqlite:${newer}`)
  await database.writer('migrations').insert({ name: '9999-from-the-future' })
  await database.close()
  const target = join(folder, 'target.db')
  const cases: [args: string[], exitCode: number, message: string][] = [
    [['restore', text], 1, 'is not a SQLite database'],
    [['restore', empty], 1, 'contains no database of passes'],
    [['restore', cut], 1, 'damaged'],
    [['restore', newer], 1, '9999-from-the-future'],
    [['restore', newer, '--unverified'], 1, '9999-from-the-future'],
    [['restore', join(folder, 'nothing')], 1, 'does not exist'],
    [['restore'], 2, 'file'],
    [['restore', good, '--database', 'postgres://u:p@host/db'], 2, 'pg_restore --use-list=passes.list'],
    [['backup', join(folder, 'x'), '--database', 'postgres://u:p@host/db'], 2, 'pg_dump'],
    [
      ['backup', join(folder, 'x'), '--database', `sqlite:${folder}/none.db`],
      1,
      'none.db cannot be used: the file does not exist',
    ],
    [['backup', join(folder, 'x'), '--database', `sqlite:${text}`], 1, ''],
    [['backup', join(folder, 'no', 'such', 'folder'), '--database', server.database], 1, 'does not exist'],
  ]
  for (const [command, exitCode, message] of cases) {
    const onDatabase = command.includes('--database') ? command : [...command, '--database', `sqlite:${target}`]
    const result = await run(onDatabase)
    expect([result.exitCode, String(result.stderr)], command.join(' ')).toEqual([
      exitCode,
      expect.stringContaining(message),
    ])
    expect(String(result.stderr)).not.toContain('u:p@')
  }
  expect(existsSync(target)).toBe(false)
  expect(readdirSync(folder).sort()).toEqual(['cut', 'empty', 'good', 'newer', 'text'])
  expect(readFileSync(text, 'utf8')).toContain('This is no database')
})

async function walletTag(database: string): Promise<number> {
  const [counter] = await inspect(database).rows('sequences')
  return Number(counter!.value)
}

/** Keeps batches in flight until it is stopped. */
function startLoad({ client }: TestServer, templateId: string) {
  const acknowledged = new Map<string, string>()
  const refused: unknown[] = []
  let isOn = true
  async function send(lane: number): Promise<void> {
    for (let n = 0; isOn; n++) {
      try {
        const { results } = await client.passes.createBatch({
          body: { passes: batchOf(templateId, `${lane}-${n}`, 25) },
        })
        for (const { externalPassId, pass } of results) acknowledged.set(externalPassId, pass!.id)
        // Let some passes be issued, too.
        await sleep(100)
      } catch (error) {
        refused.push(error)
        return
      }
    }
  }
  const lanes = Promise.all([0, 1].map(send))
  return {
    acknowledged,
    refused,
    async stop() {
      isOn = false
      await lanes
    },
  }
}

test.each(['backup', 'restore'])('%s rejects - instead of using a file with that name', async (command) => {
  const ended = await run([command, '-', '--database', await emptyDatabase('sqlite')])
  expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('requires a file, not -') })
})
