import { copyFileSync, existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { prepareTarget } from '../../../src/storage/copy/target.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { emptyDatabase, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { issuedPass } from '../support/passes.ts'
import { newPhone } from '../support/phone.ts'
import { run } from '../support/program.ts'
import { hostServer } from '../support/server.ts'

/** Returns the settings that servers store in the database. */
async function settingsOf(url: string): Promise<unknown[]> {
  const { reader, close } = openDatabase(url)
  try {
    return await reader('settings').orderBy('name')
  } finally {
    await close()
  }
}

test('a read-only server is copied to PostgreSQL and back, and links and secrets keep working', async () => {
  const key = { PASSES_SERVER_KEY: 'ab'.repeat(32) }
  const first = await hostServer({ env: key })
  const { database, token } = first
  const pass = await issuedPass(first.client)
  const page = new URL(pass.hostedLinks.smart!).pathname
  const phone = await newPhone(first, pass.id, 'phone')
  expect(await phone.register(first)).toBe(201)
  expect(await phone.listChanged(first, 'v0')).toBeUndefined()
  const postgres = await emptyDatabase('postgres')

  // The scheduler writes from the first second of a server.
  const opened = openDatabase(database)
  await eventually(async () => expect(await opened.reader('leases').first()).toBeDefined())
  await opened.close()
  const early = await run(['copy', '--from', database, '--to', postgres])
  expect([early.exitCode, early.stderr]).toEqual([1, expect.stringContaining('A server uses the database')])
  await first.stop()
  const settings = await settingsOf(database)

  const still = await hostServer({ database, token, args: ['--freeze'], env: key })
  const change = { params: { id: pass.id }, body: { label: 'changed' } }
  await expect(still.client.passes.update(change)).rejects.toMatchObject({ status: 503, code: 'SERVICE_UNAVAILABLE' })
  // The copy does not contain later changes.
  await expect(phone.listChanged(still, 'v0')).rejects.toThrow('503')
  const copied = await eventually(async () => {
    const there = await run(['copy', '--from', database, '--to', postgres, '--json'])
    expect(there.exitCode, there.stderr).toBe(0)
    return JSON.parse(there.stdout) as { rows: number; to: string }
  })
  expect(copied.rows).toBeGreaterThan(10)
  // A read-only server does not record its address, because no package names it.
  expect(await settingsOf(postgres)).toEqual(settings)
  expect(await still.client.passes.get({ params: { id: pass.id } })).toMatchObject({ label: pass.label })
  expect((await fetch(`${still.url}${page}`, { headers: { accept: 'text/html' } })).status).toBe(200)
  await still.stop()

  const second = await hostServer({ database: postgres, token, env: key })
  expect((await fetch(`${second.url}${page}`, { headers: { accept: 'text/html' } })).status).toBe(200)
  await second.client.passes.update(change)
  await second.stop()

  const file = join(temporaryFolder(), 'back.db')
  await eventually(async () => {
    const back = await run(['copy', '--from', postgres, '--to', `sqlite:${file}`])
    expect(back.exitCode, back.stderr).toBe(0)
    expect(back.stdout).toContain('The contents are the same')
  })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(existsSync(`${file}.copy`)).toBe(false)
  const third = await hostServer({ database: `sqlite:${file}`, token, env: key })
  expect(await third.client.passes.get({ params: { id: pass.id } })).toMatchObject({ label: 'changed' })
  await third.stop()
})

test('rejects sources and targets that it cannot copy, and changes nothing', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'passes.db')
  const missing = await run(['copy', '--from', `sqlite:${file}`, '--to', `sqlite:${join(folder, 'other.db')}`])
  expect([missing.exitCode, missing.stderr]).toEqual([1, expect.stringContaining('the file does not exist')])
  expect((await run(['migrate', '--database', `sqlite:${file}`])).exitCode).toBe(0)
  const itself = await run(['copy', '--from', `sqlite:${file}`, '--to', `sqlite:${folder}/./passes.db`])
  expect([itself.exitCode, itself.stderr]).toEqual([
    1,
    expect.stringContaining('Source and target are the same database'),
  ])
  copyFileSync(file, join(folder, 'taken.db'))
  const taken = await run(['copy', '--from', `sqlite:${file}`, '--to', `sqlite:${join(folder, 'taken.db')}`])
  expect([taken.exitCode, taken.stderr]).toEqual([1, expect.stringContaining('already exists')])

  // An interrupted copy lacks rows, although it can look complete.
  const half = openDatabase(`sqlite:${file}`)
  await prepareTarget(half.writer, [])
  await half.close()
  const halved = await run(['copy', '--from', `sqlite:${file}`, '--to', `sqlite:${join(folder, 'half.db')}`])
  expect([halved.exitCode, halved.stderr]).toEqual([1, expect.stringContaining('is not complete')])
  expect(readdirSync(folder).filter((name) => name.startsWith('half.db'))).toEqual([])
  const examined = await run(['doctor', '--database', `sqlite:${file}`, '--json'])
  expect(JSON.parse(examined.stdout).checks).toContainEqual({
    group: 'Database',
    name: 'Migrations',
    status: 'FAILED',
    message: expect.stringContaining('is not complete'),
    fix: expect.stringContaining('passes copy'),
  })
})
