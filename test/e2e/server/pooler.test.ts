import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { emptyDatabase, migratedDatabase, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { times } from '../../support/long.ts'
import { lacksPgbouncer, startPgbouncer } from '../../support/pgbouncer.ts'
import { batchOf, inspect, publishTemplate } from '../support/passes.ts'
import { run } from '../support/program.ts'
import { hostServer } from '../support/server.ts'

const BATCHES = 4
/** The passes of a batch. */
const PASSES = times(6, 15)
const SERVER_KEY = 'e2e-'.repeat(11)

describe.skipIf(lacksPgbouncer)('behind pgbouncer (skipped if the Debian package is not installed)', () => {
  test.each([
    ['transaction', 8],
    // A server opens up to 21 connections, and its commands more.
    ['session', 60],
  ])('in %s mode, a server and its commands work without an error', async (poolMode, poolSize) => {
    const database = await startPgbouncer(await emptyDatabase('postgres'), poolMode, poolSize)
    const passes = async (args: string[]) => {
      const ended = await run(args, undefined, {
        env: { PASSES_DATABASE_URL: database, PASSES_SERVER_KEY: SERVER_KEY },
      })
      expect(ended.exitCode, `${args}: ${ended.stdout} ${ended.stderr}`).toBe(0)
      return ended.stdout
    }
    expect(await passes(['migrate'])).toContain('0001-baseline')
    const server = await hostServer({ database })
    const { client } = server
    const templateId = await publishTemplate(client, { maxUses: 1 })
    const created = await Promise.all(
      Array.from({ length: BATCHES }, (_, n) =>
        client.passes.createBatch({ body: { passes: batchOf(templateId, `batch-${n}`, PASSES) } }),
      ),
    )
    const ids = created.flatMap(({ results }) => results.map(({ pass }) => pass!.id))
    const query = { status: ['ISSUED' as const], limit: 1 }
    await eventually(async () => expect((await client.passes.list({ query })).total).toBe(BATCHES * PASSES))
    for (let from = 0; from < ids.length; from += 10) {
      await Promise.all(
        ids
          .slice(from, from + 10)
          .flatMap((id) => [
            client.passes.update({ params: { id }, body: { label: `Updated ${id}` } }),
            client.scans.create({ body: { passId: id } }),
            client.passes.get({ params: { id } }),
            client.passes.list({ query: { search: 'Guest', limit: 10 } }),
          ]),
      )
    }
    expect((await client.passes.list({ query: { search: 'Updated', limit: 1 } })).total).toBe(ids.length)
    const { rows } = inspect(database)
    await eventually(async () => expect(await rows('jobs')).toEqual([]))

    const report = JSON.parse(await passes(['doctor', '--recount', '--json'])) as { checks: { message: string }[] }
    expect(report.checks.map(({ message }) => message)).toContain(`PostgreSQL, through a pooler in ${poolMode} mode`)
    expect(JSON.parse(await passes(['jobs', 'list', '--json']))).toMatchObject({ failed: [] })
    await passes(['token', 'create', '--name', 'another', '--json'])
    expect(await stateOf(database)).toEqual({
      enable_seqscan: 'on',
      jit: expect.not.stringContaining('off'),
      statements: '0',
    })
    await server.stop()
    expect(server.stderr()).toBe('')

    const file = `sqlite:${join(temporaryFolder(), 'copy.db')}`
    await passes(['copy', '--from', database, '--to', file])
    const target = await startPgbouncer(await emptyDatabase('postgres'), poolMode, poolSize)
    await passes(['copy', '--from', file, '--to', target])
    expect(await inspect(target).passes()).toHaveLength(ids.length)
  })

  test('in statement mode, doctor names the mode and how to fix it', async () => {
    const database = await startPgbouncer(await migratedDatabase('postgres'), 'statement')
    const env = { PASSES_DATABASE_URL: database, PASSES_SERVER_KEY: SERVER_KEY }
    const ended = await run(['doctor', '--json'], undefined, { env })
    const { checks } = JSON.parse(ended.stdout) as { checks: { name: string; message: string; fix?: string }[] }
    const check = (wanted: string) => checks.find(({ name }) => name === wanted)
    expect(check('Reachable')).toMatchObject({ message: 'PostgreSQL, through a pooler in statement mode' })
    for (const name of ['Requirements', 'Writable']) {
      expect(check(name)).toMatchObject({
        status: 'FAILED',
        message: expect.stringContaining('the connection pooler rejects it'),
        fix: expect.stringContaining('set pool_mode to transaction or session'),
      })
    }
  })

  test('in statement mode, a command says which mode to set', async () => {
    const database = await startPgbouncer(await emptyDatabase('postgres'), 'statement')
    const ended = await run(['migrate'], undefined, { env: { PASSES_DATABASE_URL: database } })
    expect(ended.exitCode).toBe(1)
    expect(ended.stderr).toContain('transaction blocks not allowed in statement pooling mode')
    expect(ended.stderr).toContain('set pool_mode to transaction or session')
  })
})

/** Returns the state of a session that another client gets from the pooler. */
async function stateOf(database: string): Promise<unknown> {
  const client = new pg.Client(database)
  await client.connect()
  try {
    const state = `select current_setting('enable_seqscan') as enable_seqscan, current_setting('jit') as jit,
      (select count(*) from pg_prepared_statements) as statements`
    return (await client.query(state)).rows[0]
  } finally {
    await client.end()
  }
}
