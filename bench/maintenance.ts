/**
 * Measures scheduled maintenance on both databases, in alternating rounds: marking expired passes, against one UPDATE
 * per transaction of the same number of passes; and deleting deliveries after their retention, against inserting the
 * same rows. Run: npx tsx bench/maintenance.ts. Exits with 1 if a target is missed.
 */
import type { Knex } from 'knex'
import { expirePasses, sweep } from '../src/server/background/maintenance.ts'
import type { Services } from '../src/server/context.ts'
import { openApp } from './support/app.ts'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { insertPasses, passId, START, sqlFor } from './support/many-passes.ts'
import { describe, type Measured, measure, ROUNDS, ratioOfRates, rounds } from './support/rounds.ts'

/**
 * The number of rows that each side of a round processes, which is the number of passes that one run of the sweep marks
 * as expired.
 */
const ROWS = 5_000
/** The number of rows per transaction of the reference. */
const SET = 250
const TARGETS = { expiry: 0.7, retention: 1 }

await onEachDatabase(async (kind, create) => {
  const app = await openApp(await create('maintenance'))
  const { services, database, workspaceId } = app
  await insertPasses(database.writer, workspaceId, 2 * ROWS * ROUNDS)
  await compareExpiry(kind, services, database.writer)
  await compareRetention(kind, services, database.writer, workspaceId)
  await app.close()
})
process.exit()

async function compareExpiry(kind: string, services: Services, db: Knex): Promise<void> {
  const ours: Measured[] = []
  const anchor: Measured[] = []
  for (const round of rounds()) {
    const first = 2 * ROWS * round + 1
    await db('passes')
      .whereBetween('id', [passId(first), passId(first + ROWS - 1)])
      .update({ status: 'ISSUED', expires_at: 1 })
    ours.push(await measure(ROWS, () => timed(() => expirePasses(services))))
    const raw = () => inSets(first + ROWS, (tx, from, to) => markRaw(tx, passId(from), passId(to)), db)
    anchor.push(await measure(ROWS, () => timed(raw)))
  }
  console.log(`${kind}: the sweep marks ${describe(ours)}; one UPDATE for ${SET} passes ${describe(anchor)}`)
  figure(`passes marked as expired to an UPDATE of them, ${kind}`, ratioOfRates(ours, anchor), {
    atLeast: TARGETS.expiry,
  })
}

function markRaw(tx: Knex, from: string, to: string): Knex.QueryBuilder {
  const change = { status: 'EXPIRED', updated_at: Date.now(), version: tx.raw('version + 1') }
  return tx('passes').whereBetween('id', [from, to]).update(change)
}

async function compareRetention(kind: string, services: Services, db: Knex, workspaceId: string): Promise<void> {
  const retention = { deliveriesDays: 30, auditDays: 30 }
  const inserts: Measured[] = []
  const deletes: Measured[] = []
  for (const _ of rounds()) {
    const insert = () => inSets(1, (tx, from, to) => insertDelivered(tx, workspaceId, from, to), db)
    inserts.push(await measure(ROWS, () => timed(insert)))
    deletes.push(await measure(ROWS, () => timed(() => sweep({ ...services, retention }))))
  }
  console.log(
    `${kind}: retention deletes ${describe(deletes)}, of deliveries with event and attempt; inserts ${describe(inserts)}`,
  )
  figure(`deliveries that retention deletes to inserts of them, ${kind}`, ratioOfRates(deletes, inserts), {
    atLeast: TARGETS.retention,
  })
}

/** Inserts old deliveries, each with its event and one attempt, with one statement per table. */
async function insertDelivered(tx: Knex, workspaceId: string, from: number, to: number): Promise<void> {
  const { numbers, timedId, uuid, boolean } = sqlFor(tx)
  const [id, workspace, at] = [timedId(START, 'n'), uuid(`'${workspaceId}'`), `${START} + n`]
  const rows = [
    `events (id, workspace_id, type, subject, data, created_at)
      ${numbers} select ${id}, ${workspace}, 'pass.issued', ${id}, '{"label":"Ada Lovelace"}', ${at} from numbers`,
    `webhook_deliveries (id, workspace_id, webhook_id, event_id, event_type, generation, status, scheduled_attempts,
      is_redelivery, attempt_count, last_response_code, created_at, updated_at)
      ${numbers} select ${id}, ${workspace}, ${workspace}, ${id}, 'pass.issued', 1, 'DELIVERED', 1,
        ${boolean}, 1, 200, ${at}, ${at} from numbers`,
    `webhook_attempts (workspace_id, delivery_id, number, started_at, duration_ms, response_code)
      ${numbers} select ${workspace}, ${id}, 1, ${at}, 20, 200 from numbers`,
  ]
  for (const row of rows) await tx.raw(`insert into ${row}`, [from, to])
}

/** Runs the work on ROWS rows, starting at `first`, with one transaction per SET rows. */
async function inSets(first: number, work: (tx: Knex, from: number, to: number) => PromiseLike<unknown>, db: Knex) {
  for (let from = first; from < first + ROWS; from += SET) {
    await db.transaction(async (tx) => void (await work(tx, from, from + SET - 1)))
  }
}

/** Returns the seconds that the work takes. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}
