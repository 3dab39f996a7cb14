import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { insertCodes, insertPasses, START, templateId } from '../../../bench/support/many-passes.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import type { ServerProcess } from '../../e2e/support/server.ts'
import type { Arena, Scene } from '../arena.ts'
import { compareScans, scan } from '../door.ts'
import { settle } from '../settle.ts'

export const upgrade: Scene = {
  name: 'upgrade',
  promise: 5,
  promised: 'An upgrade that is killed changes exactly the matching passes, once each, next to a busy door',
  run: killUpgrade,
}

const PARAMS = { id: templateId(0) }

async function killUpgrade(arena: Arena): Promise<void> {
  const given = process.env.PASSES_UPGRADE_PASSES
  const passes = Number(given ?? arena.size(10_000, 200_000))
  const kills = given ? 10 : arena.size(2, 10)
  // While the server is busy, each request of the workspace delays its jobs by 100 ms.
  const pollMs = Math.max(2, passes / 2_000)
  let server = await arena.start({ database: await arena.emptyDatabase(), env: { PASSES_RATE_LIMIT: '0' } })
  const { database, token } = server
  const port = new URL(server.url).port
  const restart = async () => arena.start({ database, token, port, env: { PASSES_RATE_LIMIT: '0' } })
  const expected = await fill(server, passes)
  const seconds = given ? 20 : arena.size(5, 20)
  await scan(server, 2)
  const quiet = await scan(server, seconds)

  const filter = { createdTo: new Date(START + expected.last).toISOString() }
  const { id } = await server.client.upgrades.create({ params: PARAMS, body: { to: 2, filter } })
  const named = { params: { ...PARAMS, upgradeId: id } }
  const done = async () => {
    const { status, upgraded, unchanged, failed } = await server.client.upgrades.get(named)
    return status === 'PENDING' ? upgraded + unchanged + failed : passes
  }
  const began = performance.now()
  const busy = await scan(server, seconds, async () => (await done()) < passes)
  arena.reached('passes per second next to a door', Math.round((await done()) / ((performance.now() - began) / 1000)))
  compareScans(arena, { quiet, busy }, 'the upgrade')

  const at = await done()
  for (let kill = 1; kill <= kills && !(kill > 1 && arena.isOver()); kill += 1) {
    const aim = at + ((passes - at) * (kill - arena.random.next())) / (kills + 1)
    let count = await done()
    while (count < aim && count < passes) {
      await sleep(pollMs)
      count = await done()
    }
    await server.kill()
    arena.did(count === passes ? 'kills after the upgrade' : 'kills during the upgrade')
    server = await restart()
  }
  // Wait until the lease of the killed worker has ended, and the upgrade continues.
  const before = await done()
  await arena.waitUntil('the upgrade resumes', 120, async () => (await done()) > before)
  const resumed = { at: performance.now(), count: await done() }
  await arena.waitUntil('the upgrade is done', 1_800, async () => (await done()) === passes)
  const rate = (passes - resumed.count) / ((performance.now() - resumed.at) / 1000)
  if (passes - resumed.count > 1_000) arena.reached('passes per second without other load', Math.round(rate))
  const { status, matched, upgraded, unchanged, failed } = await server.client.upgrades.get(named)
  const found = { status, matched, upgraded, unchanged, failed }
  const { last: _, ...counts } = expected
  const wanted = { status: 'DONE', ...counts }
  arena.check(isSame(found, wanted), `the upgrade ended with ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`)
  arena.did('upgraded passes', upgraded)
  arena.took('time until all jobs were run', await settle(arena, database, 300))
  await checkEffects(arena, database, expected)
}

interface Expected {
  /** The number of the last pass that the filter matches. */
  last: number
  matched: number
  upgraded: number
  unchanged: number
  failed: number
}

/**
 * Inserts passes with SQL, and publishes a second version, which needs a seat. One in a thousand passes is VOID, one in
 * 500 has no seat, and one in 50 already has the second version.
 */
async function fill({ database: url, client }: ServerProcess, passes: number): Promise<Expected> {
  const database = openDatabase(url)
  const db = database.writer
  try {
    const { workspaceId } = await client.tokens.current()
    await insertPasses(db, workspaceId, passes, null, 1)
    await insertCodes(db, workspaceId, passes)
    const variables = ['seat', 'tier'].map((name) => ({ name, label: name, required: true }))
    const definition = { variables, design: { organizationName: 'Fair', description: 'Ticket' } }
    const draft = await client.templates.createVersion({ params: PARAMS, body: { definition } })
    const { id } = await client.templateVersions.publish({ params: { id: draft.id } })
    const every = (n: number, rest: number) => db('passes').whereRaw(`(created_at - ${START}) % ${n} = ${rest}`)
    await every(500, 251).update({ variables: '{"tier":"1"}' })
    await every(50, 27).update({ template_version: 2, template_version_id: id })
    const last = Math.floor(passes * 0.95)
    const matching = () =>
      db('passes')
        .where('created_at', '<=', START + last)
        .whereNot('status', 'VOID')
    const count = async (query: Knex.QueryBuilder) => {
      const [row] = await query.count({ n: '*' })
      return Number(row.n)
    }
    const matched = await count(matching())
    const unchanged = await count(matching().where({ template_version: 2 }))
    const failed = await count(matching().where({ template_version: 1, variables: '{"tier":"1"}' }))
    return { last, matched, unchanged, failed, upgraded: matched - unchanged - failed }
  } finally {
    await database.close()
  }
}

/** Checks the stored effects: one revision, event, and audit entry for each upgraded pass, and none for others. */
async function checkEffects(arena: Arena, url: string, { last, upgraded }: Expected): Promise<void> {
  const database = openDatabase(url)
  const db = database.writer
  const one = async (query: PromiseLike<object[]>) => JSON.stringify(Object.values((await query)[0]!).map(Number))
  try {
    const revised = db('passes').where({ template_version: 2, revision: 2, wallet_version: 2, version: 3 })
    const others = db('passes').whereNot({ revision: 1 }).whereNot({ revision: 2 })
    const outside = db('passes')
      .where('created_at', '>', START + last)
      .whereNot({ revision: 1 })
    arena.check((await one(revised.count())) === `[${upgraded}]`, `${await one(revised.count())} passes were revised`)
    arena.check((await one(others.count())) === '[0]', 'a pass was changed twice')
    arena.check((await one(outside.count())) === '[0]', 'a pass that does not match was changed')
    const events = db('events').where({ type: 'pass.updated' }).count().countDistinct('subject as subjects')
    arena.check((await one(events)) === `[${upgraded},${upgraded}]`, `${await one(events)} events and passes`)
    const entries = db('audit_entries').where({ action: 'pass.update' }).count().countDistinct('target_id as targets')
    arena.check((await one(entries)) === `[${upgraded},${upgraded}]`, `${await one(entries)} audit entries and passes`)
  } finally {
    await database.close()
  }
}

function isSame(one: object, other: object): boolean {
  const sorted = (value: object) => JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
  return sorted(one) === sorted(other)
}
