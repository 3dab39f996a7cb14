import type { Knex } from 'knex'
import { isPostgres } from '../../src/storage/db/dialect.ts'
import { type Sql, START, sqlFor, templateId, timedId } from './many-passes.ts'

/** Fills the ledger of a workspace with any number of scans by SQL. */

/** The time of the first scan, half a year after the passes were created. */
const FIRST_SCAN = Date.UTC(2026, 6, 1)

/** Returns the ID of the n-th scan, oldest first. Scan n was recorded n milliseconds after FIRST_SCAN. */
export function scanId(n: number): string {
  return timedId(FIRST_SCAN, n)
}

/**
 * Inserts scans of passes that `insertPasses` created. Scan n is of pass 1 + n % passes, at one of twenty gates. Every
 * tenth scan is denied as used up. The others are accepted, each in one of a hundred contexts.
 */
export async function insertScans(db: Knex, workspaceId: string, count: number, passes: number): Promise<void> {
  const sql = sqlFor(db)
  const chunk = 50_000
  for (let start = 1; start <= count; start += chunk) {
    const range = [start, Math.min(count, start + chunk - 1)]
    await db.transaction(async (tx) => {
      await tx.raw(insertScan(sql, passes), [...range, workspaceId])
      await tx.raw(insertAccepted(sql, passes), [...range, workspaceId])
    })
  }
  await db.raw(isPostgres(db) ? 'vacuum analyze' : 'pragma optimize')
}

function columnsOf({ timedId, text, uuid }: Sql, passes: number) {
  const number = `(1 + n % ${passes})`
  return {
    id: timedId(FIRST_SCAN, 'n'),
    passId: timedId(START, number),
    passNumber: text(number),
    templateId: uuid(`'${templateId(0).slice(0, -1)}' || ${text(`${number} % 10`)}`),
    context: `'context ' || ${text('n % 100')}`,
    gate: `'gate-' || ${text('n % 20')}`,
    at: `${FIRST_SCAN} + n`,
  }
}

function insertScan(sql: Sql, passes: number): string {
  const { id, passId, passNumber, templateId, context, gate, at } = columnsOf(sql, passes)
  const either = (denied: string, accepted: string) => `case when n % 10 = 0 then '${denied}' else '${accepted}' end`
  return `insert into scans (id, workspace_id, result, reason, reason_code, message, verified, pass_id, external_pass_id,
    template_id, template_version_id, matched_count, prior_count, scan_context_key, scanned_at, recorded_at, device_id,
    context)
  ${sql.numbers}
  select ${id}, ${sql.uuid('w.id')}, ${either('denied', 'accepted')}, ${either('quota_exhausted', 'valid')},
    ${either('quota_exhausted', 'valid')}, ${either('Already used.', 'Valid.')}, 'online', ${passId},
    'ext-' || ${passNumber}, ${templateId}, ${templateId}, 1, 0, ${context}, ${at}, ${at}, ${gate},
    '{"gate":"North","note":"scan ' || ${sql.text('n')} || '"}'
  from numbers cross join (select id from workspaces where id = ?) w`
}

function insertAccepted(sql: Sql, passes: number): string {
  const { id, passId, templateId, context, at } = columnsOf(sql, passes)
  return `insert into accepted_scans (scan_id, workspace_id, pass_id, template_id, scan_context_key, scanned_at)
  ${sql.numbers}
  select ${id}, ${sql.uuid('w.id')}, ${passId}, ${templateId}, ${context}, ${at}
  from numbers cross join (select id from workspaces where id = ?) w where n % 10 <> 0`
}
