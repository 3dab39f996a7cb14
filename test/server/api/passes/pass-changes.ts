import { expect } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { Pass, PassUpdate } from '../../../../src/core/contract/passes.ts'
import type { TestWorkspace } from '../../../support/api.ts'
import type { Answer } from '../../../support/conformance.ts'

export interface ChangeOptions {
  ifMatch?: string
  dryRun?: boolean
}

const { update, get } = contract.passes

/** Sends a PATCH of a pass and returns the response, regardless of its status. */
export function change(
  workspace: TestWorkspace,
  id: string,
  body: PassUpdate,
  { ifMatch, dryRun }: ChangeOptions = {},
): Promise<Answer> {
  const query = dryRun === undefined ? {} : { dryRun }
  return workspace.call(
    update,
    { params: { id }, query, body },
    { ...(ifMatch !== undefined && { 'if-match': ifMatch }) },
  )
}

/** Sends a PATCH of a pass that must succeed. The response must equal the stored pass. */
export async function changed(workspace: TestWorkspace, id: string, body: PassUpdate, dryRun = false): Promise<Pass> {
  const answer = (await workspace.ok(update, { params: { id }, query: { dryRun }, body })) as Pass
  if (!dryRun) expect({ ...answer, notified: undefined }).toEqual(await read(workspace, id))
  return answer
}

/** Sends a PATCH that must be rejected. Returns its error. */
export function notChanged(workspace: TestWorkspace, id: string, body: unknown) {
  return workspace.refused(update, { params: { id }, body: body as PassUpdate })
}

export function read(workspace: TestWorkspace, id: string): Promise<Pass> {
  return workspace.ok(get, { params: { id } }) as Promise<Pass>
}

/** Returns everything that is stored about a pass, to check that a request changed nothing. */
export async function traces(workspace: TestWorkspace, passId: string) {
  const db = workspace.api.database.writer
  const of = (table: string, column: string) => db(table).where({ workspace_id: workspace.id, [column]: passId })
  return {
    pass: await of('passes', 'id').first(),
    variables: await of('pass_variables', 'pass_id').orderBy(['name', 'value']).select('name', 'value'),
    windows: await of('pass_windows', 'pass_id').orderBy('start_date').pluck('start_date'),
    identifiers: await identifiers(workspace, passId),
    events: await workspace.events(passId),
    jobs: await of('jobs', 'subject').orderBy('id').select('id', 'kind'),
  }
}

/** Returns the digests, in hex, of all payloads that a scanner accepts for a pass. */
export async function identifiers(workspace: TestWorkspace, passId: string) {
  const rows: { digest: Uint8Array; active: boolean | number }[] = await workspace.api.database
    .writer('pass_identifiers')
    .where({ workspace_id: workspace.id, pass_id: passId })
  const digests = (isActive: boolean) =>
    rows
      .filter((row) => Boolean(row.active) === isActive)
      .map((row) => Buffer.from(row.digest).toString('hex'))
      .toSorted()
  return { active: digests(true), stale: digests(false) }
}
