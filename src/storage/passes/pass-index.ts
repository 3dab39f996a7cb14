import type { Knex } from 'knex'
import { indexedVariables } from '../../core/rules/lists/search.ts'
import { windowDates } from '../../core/rules/redemption/redemption-windows.ts'
import { type Columns, insertRows } from '../db/bulk-rows.ts'
import type { NewPass, PassContent } from './pass-row.ts'

/** The rows beside a pass that lists and scans find it by. */

const IDENTIFIER_COLUMNS: Columns = { workspace_id: 'uuid', digest: 'bytes', pass_id: 'uuid', active: 'boolean' }
const VARIABLE_COLUMNS: Columns = { workspace_id: 'uuid', name: 'text', value: 'text', pass_id: 'uuid' }
const WINDOW_COLUMNS: Columns = { workspace_id: 'uuid', start_date: 'text', pass_id: 'uuid' }

export async function insertIndex(db: Knex, workspaceId: string, passes: NewPass[]): Promise<void> {
  await insertRows(
    db,
    'pass_identifiers',
    IDENTIFIER_COLUMNS,
    passes.map((pass) => ({
      workspace_id: workspaceId,
      digest: Buffer.from(pass.identifierDigest).toString('hex'),
      pass_id: pass.id,
      active: true,
    })),
  )
  await insertVariables(db, workspaceId, passes)
  await insertWindows(db, workspaceId, passes)
}

/** Makes the rows of one pass agree with its new content. */
export async function replaceIndex(db: Knex, workspaceId: string, pass: PassContent & { id: string }): Promise<void> {
  for (const table of ['pass_variables', 'pass_windows']) {
    await db(table).where({ workspace_id: workspaceId, pass_id: pass.id }).delete()
  }
  await insertVariables(db, workspaceId, [pass])
  await insertWindows(db, workspaceId, [pass])
}

/** Makes one identifier of a pass the active one, where it is not; what was active is stale from now on. */
export async function activateIdentifier(
  db: Knex,
  workspaceId: string,
  passId: string,
  digest: Uint8Array,
): Promise<void> {
  const key = { workspace_id: workspaceId, pass_id: passId }
  const active = () => db('pass_identifiers').where({ ...key, active: true })
  if (await active().where({ digest }).first('pass_id')) return
  await active().update({ active: false })
  await db('pass_identifiers')
    .insert({ ...key, digest, active: true })
    .onConflict(['workspace_id', 'digest', 'pass_id'])
    .merge(['active'])
}

async function insertVariables(
  db: Knex,
  workspaceId: string,
  passes: Pick<NewPass, 'id' | 'variables'>[],
): Promise<void> {
  const rows = passes.flatMap((pass) =>
    indexedVariables(pass.variables).map((pair) => ({ workspace_id: workspaceId, ...pair, pass_id: pass.id })),
  )
  await insertRows(db, 'pass_variables', VARIABLE_COLUMNS, rows)
}

async function insertWindows(
  db: Knex,
  workspaceId: string,
  passes: Pick<NewPass, 'id' | 'redemption'>[],
): Promise<void> {
  const rows = passes.flatMap((pass) =>
    windowDates(pass.redemption).map((date) => ({ workspace_id: workspaceId, start_date: date, pass_id: pass.id })),
  )
  await insertRows(db, 'pass_windows', WINDOW_COLUMNS, rows)
}
