import type { Knex } from 'knex'
import { describe, expect, test } from 'vitest'
import { createRandom } from '../../../bench/support/random.ts'
import { newId } from '../../../src/core/ids.ts'
import type { CountDifference } from '../../../src/storage/operations/counters.ts'
import { AcceptedScans } from '../../../src/storage/scans/accepted-scans.ts'
import { createStore, type Repositories, type Store } from '../../../src/storage/store.ts'
import type { PublishedVersion } from '../../../src/storage/templates/template-versions-repository.ts'
import { dialects } from '../../support/databases.ts'
import { isLong } from '../../support/long.ts'
import {
  acceptedScan,
  insertPasses,
  insertTemplate,
  insertWorkspace,
  later,
  newPass,
  openTestDatabase,
  openTestStore,
  sentObject,
  start,
} from '../fixtures.ts'

/** Enough steps to make each change at least once. */
const STEPS = isLong ? 1_000 : 30

const COUNTERS = [
  'google-installs',
  'notifications',
  'passes',
  'passes-by-hour',
  'redeemed',
  'redeemed-by-context',
  'scans',
  'scans-by-context',
  'scans-by-gate',
]

describe.each(dialects)('on %s', (dialect) => {
  test('counts equal a recount after writes, deletes, and rollbacks', async () => {
    const { url, store, database } = await openTestStore(dialect)
    const stores = [store, createStore(openTestDatabase(url)), createStore(openTestDatabase(url))]
    const places: Place[] = []
    for (const name of ['acme', 'other']) {
      const workspaceId = await insertWorkspace(store, name)
      const version = await insertTemplate(store, workspaceId)
      places.push({ workspaceId, versions: [version, await insertTemplate(store, workspaceId)] })
    }
    const lanes = stores.map((own, n) => changeAtRandom(own, places, `counts ${n}`))
    await Promise.all(lanes)
    const listCounters = (): Promise<string[]> =>
      database.writer('counts').where('n', '>', 0).distinct('counter').pluck('counter')
    // The effect of a change depends on timing: a broadcast might have found no pass.
    for (let n = 0; (await listCounters()).length < COUNTERS.length; n += 1) {
      await changeAtRandom(store, places, `more ${n}`)
    }
    expect(await store.counts.listDifferences()).toEqual([])
    expect((await listCounters()).sort()).toEqual(COUNTERS)
  })

  test.runIf(dialect === 'postgres')(
    'counting admitted passes reads only them, with a plan cached while there were none',
    async () => {
      const { store, database } = await openTestStore(dialect)
      const workspaceId = await insertWorkspace(store)
      const version = await insertTemplate(store, workspaceId)
      const passes = Array.from({ length: 200 }, () => newPass(version))
      await insertPasses(store, workspaceId, passes)
      const fetched = async (tx: Knex) => {
        const { rows } = await tx.raw(`select coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0) as n
        from pg_stat_xact_user_tables where relname = 'accepted_scans'`)
        return rows[0].n as number
      }
      const made: number[] = []
      for (let n = 0; n < passes.length; n += 20) {
        await database.forRequests(workspaceId).writer.transaction(async (tx) => {
          const before = await fetched(tx)
          const uses = passes.slice(n, n + 20).map(({ id, projectId, templateId }) => ({
            scanId: newId(start),
            passId: id,
            projectId,
            templateId,
            scanContextKey: 'gate',
            scannedAt: start,
            debitedWindow: null,
            validityDate: null,
          }))
          await new AcceptedScans({ db: tx }).insert(workspaceId, uses)
          made.push((await fetched(tx)) - before)
        })
      }
      expect(made).toEqual(made.map(() => made[0]))
    },
  )

  test('a recount names and fixes wrong counts, and leaves the others', async () => {
    const { store, database } = await openTestStore(dialect)
    const workspaceId = await insertWorkspace(store)
    const version = await insertTemplate(store, workspaceId)
    const [id] = await insertPasses(store, workspaceId, [newPass(version), newPass(version)])
    await store.transaction((tx) => tx.scans.insert(workspaceId, [acceptedScan(id!)]))
    const counts = () => database.writer('counts')
    await counts().where({ counter: 'passes' }).update({ n: 7 })
    await counts()
      .where({ counter: 'scans' })
      .update({ last_at: later(60).getTime() })
    await counts().where({ counter: 'passes-by-hour' }).delete()
    const wrong: CountDifference[] = await store.counts.listDifferences()
    expect(wrong.map(({ counter, counted, expected }) => [counter, counted, expected])).toEqual([
      ['passes', 7, 2],
      ['passes-by-hour', 0, 2],
      ['scans', 1, 1],
    ])
    expect(wrong[0]).toMatchObject({ workspaceId, part: `template ${version.templateId}, kind QUEUED` })
    // Changes during the repair are neither lost nor counted twice.
    await Promise.all([
      store.transaction((tx) => tx.counts.recount()),
      store.transaction((tx) => tx.counts.recount()),
      insertPasses(store, workspaceId, [newPass(version)]),
    ])
    expect(await store.counts.listDifferences()).toEqual([])
    const { total } = await store.passes.list(workspaceId, { limit: 1, sortBy: 'createdAt', sortDir: 'desc' }, start)
    expect(total).toBe(3)
  })
})

/** Makes each change of a count once and then at random. One in six transactions fails. */
async function changeAtRandom(store: Store, places: Place[], seed: string): Promise<void> {
  const random = createRandom(seed)
  let at = start
  for (let step = 0; step < STEPS; step += 1) {
    const place = random.pick(places)
    at = later(random.between(0, 2_000), at)
    const isFailing = random.between(1, 6) === 1
    const work = store.transaction(async (tx) => {
      await (changes[step] ?? random.pick(changes))({ ...place, tx, at, random })
      if (isFailing) throw new Error('never mind')
    })
    if (isFailing) await expect(work).rejects.toThrow('never mind')
    else await work
  }
}

interface Place {
  workspaceId: string
  /** The versions of two templates. */
  versions: PublishedVersion[]
}

interface Step extends Place {
  tx: Repositories
  at: Date
  random: ReturnType<typeof createRandom>
}

async function somePasses({ tx, workspaceId, at, random }: Step) {
  const { rows } = await tx.passes.list(workspaceId, { limit: 100, sortBy: 'createdAt', sortDir: 'desc' }, at)
  const ids = random.shuffle(rows).slice(0, random.between(1, 4))
  return tx.passes.listForUpdate(
    workspaceId,
    ids.map(({ id }) => id),
  )
}

async function somePass(step: Step) {
  return (await somePasses(step)).at(0)
}

const idsOf = (passes: { id: string }[]) => passes.map(({ id }) => id)

const changes: ((step: Step) => Promise<unknown>)[] = [
  makePasses,
  makePasses,
  makePasses,
  async (step) => step.tx.passes.setIssued(step.workspaceId, idsOf(await somePasses(step)), step.at),
  async (step) => step.tx.passes.setIssued(step.workspaceId, idsOf(await somePasses(step)), step.at),
  async (step) => step.tx.passes.setVoid(step.workspaceId, idsOf(await somePasses(step)), step.at),
  async (step) => step.tx.passes.expire(step.at, step.random.between(1, 5)),
  async (step) => {
    const pass = await somePass(step)
    if (pass)
      await step.tx.passes.setFailed(step.workspaceId, pass.id, { code: 'INTERNAL_ERROR', message: '' }, step.at)
  },
  async (step) => {
    const pass = await somePass(step)
    if (pass) await step.tx.erasure.erase(step.workspaceId, pass.id, Buffer.alloc(32), step.at)
  },
  scan,
  scan,
  scan,
  scan,
  takeBack,
  install,
  install,
  broadcast,
  deliver,
  leaveProject,
]

async function makePasses({ tx, workspaceId, versions, at, random }: Step): Promise<void> {
  const isOfProject = random.between(0, 2) > 0
  const fields = { name: 'Fair', description: '', color: 'blue' } as const
  const { rows } = await tx.projects.list(workspaceId, { limit: 10, sortBy: 'createdAt', sortDir: 'desc' })
  const known = random.between(0, 1) === 0 ? rows.at(0) : undefined
  const project = isOfProject ? (known ?? (await tx.projects.insert(workspaceId, fields, at))) : null
  const version = random.pick(versions)
  const passes = Array.from({ length: random.between(1, 5) }, () =>
    newPass(version, {
      id: newId(at),
      projectId: project?.id ?? null,
      expiresAt: random.between(0, 1) === 0 ? later(random.between(1, 10_000), at) : null,
    }),
  )
  const taken = newPass(version, { externalPassId: passes[0]!.externalPassId })
  await tx.passes.insert(workspaceId, [...passes, taken], at)
}

/** Makes three attempts on a pass, possibly with the same context. Each can be accepted. */
async function scan(step: Step): Promise<void> {
  const { tx, workspaceId, at, random } = step
  const pass = await somePass(step)
  if (!pass) return
  const scans = [1, 2, 3].map(() => {
    const isAccepted = random.between(0, 1) === 0
    return acceptedScan(pass.id, {
      id: newId(at),
      projectId: pass.projectId,
      templateId: pass.templateId,
      ...(!isAccepted && { result: 'denied', reason: 'expired' }),
      scanContextKey: random.pick([null, 'today', 'tomorrow']),
      context: random.pick([null, {}, { gate: 'North' }, { gate: 'South', lane: '1' }]),
      scannedAt: random.pick([at, new Date(-1), start]),
      externalRef: null,
    })
  })
  await tx.scans.insert(workspaceId, scans)
  const accepted = scans.filter(({ result }) => result === 'accepted')
  await tx.acceptedScans.insert(
    workspaceId,
    accepted.map(({ id, scanContextKey, scannedAt, projectId }) => ({
      scanId: id,
      passId: pass.id,
      projectId,
      templateId: pass.templateId,
      scanContextKey,
      scannedAt,
      debitedWindow: null,
      validityDate: null,
    })),
  )
}

async function takeBack(step: Step): Promise<void> {
  const { tx, workspaceId, at, random } = step
  const pass = await somePass(step)
  if (!pass) return
  const { rows } = await tx.scans.list(workspaceId, { limit: 10, passId: [pass.id] })
  for (const { id } of rows.slice(0, random.between(1, 10))) {
    if (!(await tx.acceptedScans.delete(workspaceId, id))) continue
    const reversal = { id: newId(at), result: 'reversal', reason: null, reversesScanId: id, externalRef: null } as const
    await tx.scans.insert(workspaceId, [acceptedScan(pass.id, reversal)])
  }
}

async function install(step: Step): Promise<void> {
  const { tx, workspaceId, at, random } = step
  const pass = await somePass(step)
  if (!pass) return
  const sent = sentObject(pass.id)
  await tx.googleObjects.setSent(workspaceId, pass.id, { ...sent, version: 1 }, at)
  await tx.googleObjects.addHolders(sent.objectSuffix, random.pick([1, -1, 1] as const), at)
}

async function broadcast({ tx, workspaceId, at, random }: Step): Promise<void> {
  const { rows } = await tx.projects.list(workspaceId, { limit: 10, sortBy: 'createdAt', sortDir: 'desc' })
  if (rows.length === 0) return
  const fields = { body: 'Doors open', options: {}, sendAt: null, idempotencyKey: null }
  const made = { id: newId(at), projectId: random.pick(rows).id, platforms: ['apple', 'google'], ...fields } as const
  const request = { limit: 100, sortBy: 'createdAt', sortDir: 'desc', projectId: [made.projectId] } as const
  const targets = await tx.passes.list(workspaceId, { ...request, projectId: [...request.projectId] }, at)
  await tx.passes.setIssued(workspaceId, idsOf(targets.rows), at)
  await tx.broadcasts.insert(workspaceId, { ...made, platforms: [...made.platforms] }, at)
  await tx.broadcasts.setStarted(workspaceId, made.id, at)
  const started = await tx.broadcasts.findForUpdate(workspaceId, made.id)
  await tx.broadcasts.fanOut(workspaceId, started!, { after: null, upTo: null }, at)
}

async function deliver(step: Step): Promise<void> {
  const { tx, workspaceId, at, random } = step
  const pass = await somePass(step)
  if (!pass) return
  const { rows } = await tx.notifications.list(workspaceId, pass.id, { limit: 10 })
  const states = ['SENT', 'FAILED', 'SKIPPED'] as const
  const changes = rows.map(
    ({ id }) => [id, { apple_status: random.pick(states), google_status: random.pick(states) }] as const,
  )
  await tx.notifications.update(workspaceId, new Map(changes), at)
}

async function leaveProject({ tx, workspaceId, at, random }: Step): Promise<void> {
  const { rows } = await tx.projects.list(workspaceId, { limit: 10, sortBy: 'createdAt', sortDir: 'desc' })
  if (rows.length < 4) return
  const { id } = random.pick(rows)
  await tx.projects.delete(workspaceId, id)
  await tx.passes.detachFromProject(workspaceId, id, random.between(0, 3), at)
}
