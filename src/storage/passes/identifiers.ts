import type { Knex } from 'knex'
import { indexedVariables } from '../../core/rules/lists/search.ts'
import { windowDates } from '../../core/rules/redemption/redemption-windows.ts'
import { insertRows, selectForEach } from '../db/bulk-rows.ts'
import { rowsOfPasses } from '../db/dialect.ts'
import { sendSilently } from '../db/prepared.ts'
import { Repository } from '../db/repository.ts'
import { bytesOfHex, listOf } from '../db/values.ts'
import type { NewPass, PassContent } from './pass-row.ts'

/** The maximum number of passes that match a code. Current and earlier codes of passes are counted separately. */
const MAX_MATCHES = 1_000

/** The SHA-256 digest of a scanned code, and the project for which it is scanned. */
export interface ScannedCode {
  digest: Uint8Array
  projectId?: string | undefined
}

interface Match {
  n: number
  /** The IDs of the passes that have the code (`now`) or had it earlier (`once`), as JSON. */
  now: string
  once: string
}

/** The codes that scanners read from passes, as SHA-256 digests. */
export class Identifiers extends Repository {
  /**
   * For each code, returns the IDs of the passes that have the code now. If there are none, returns the passes that had
   * the code earlier. If a code has a `projectId`, passes of this project take precedence, even if they only had the
   * code earlier. A caller that is limited to projects finds only passes of the project of the code.
   */
  async listPassIds(workspaceId: string, codes: ScannedCode[]): Promise<string[][]> {
    const isInScope = (projectId: string) => !this.scope || this.scope.includes(projectId)
    const ofProjects = codes.filter(({ projectId }) => projectId !== undefined && isInScope(projectId))
    const inProject = await this.match(workspaceId, ofProjects)
    const elsewhere = this.scope ? [] : codes.filter((code) => !inProject.get(code)?.length)
    const digests = elsewhere.map(({ digest }) => ({ digest }))
    const anywhere = await this.match(workspaceId, digests)
    const byDigest = new Map([...anywhere].map(([{ digest }, ids]) => [digest, ids]))
    return codes.map((code) => {
      const found = inProject.get(code) ?? []
      return found.length > 0 ? found : (byDigest.get(code.digest) ?? [])
    })
  }

  /** Finds the passes of codes. Either all codes must have a project, or none. */
  private async match(workspaceId: string, codes: ScannedCode[]): Promise<Map<ScannedCode, string[]>> {
    const isInProject = codes[0]?.projectId !== undefined
    const rows =
      codes.length === 0
        ? []
        : await selectForEach<Match>(
            this.db,
            workspaceId,
            {
              name: isInProject ? 'match-identifiers-in-project' : 'match-identifiers',
              given: { digest: 'text', project_id: 'uuid' },
              items: codes.map(({ digest, projectId = null }) => ({ digest: toHex(digest), project_id: projectId })),
            },
            this.matches(isInProject),
          )
    return new Map(
      rows.map(({ n, now, once }) => {
        const ids: string[] = JSON.parse(now)
        return [codes[n]!, ids.length > 0 ? ids : JSON.parse(once)]
      }),
    )
  }

  /** Returns the SQL that finds the passes of each code, in the order of their IDs. */
  private matches(isInProject: boolean): string {
    const join = isInProject ? 'join passes on passes.id = pass_identifiers.pass_id' : ''
    const where = isInProject ? 'and passes.project_id = given.project_id' : ''
    const part = (isActive: boolean) =>
      listOf(
        this.db,
        'pass_id',
        `select pass_id from pass_identifiers ${join}
          where pass_identifiers.workspace_id = given.workspace_id
            and digest = ${bytesOfHex(this.db, 'given.digest')} and active = ${isActive} ${where}
          order by pass_id limit ${MAX_MATCHES}`,
      )
    return `select n, ${part(true)} as now, ${part(false)} as once from given`
  }
}

export function toHex(digest: Uint8Array): string {
  return Buffer.from(digest).toString('hex')
}

/** Inserts the index rows of new passes: codes, variables, and validity dates. */
export async function insertIndex(db: Knex, workspaceId: string, passes: NewPass[]): Promise<void> {
  await insertRows(
    db,
    'pass_identifiers',
    passes.map((pass) => ({
      workspace_id: workspaceId,
      digest: pass.identifierDigest,
      pass_id: pass.id,
      active: true,
    })),
  )
  await insertVariables(db, workspaceId, passes)
  await insertWindows(db, workspaceId, passes)
}

/** Replaces the index rows of variables and validity dates after the content of passes changed. */
export async function replaceIndex(
  db: Knex,
  workspaceId: string,
  passes: (Pick<PassContent, 'variables' | 'redemption'> & { id: string })[],
): Promise<void> {
  const ids = passes.map(({ id }) => id)
  await sendSilently(db, rowsOfPasses(db, 'pass_variables', workspaceId, ids).delete())
  await insertVariables(db, workspaceId, passes)
  await replaceWindows(db, workspaceId, passes)
}

/** Replaces only the index rows of validity dates. */
export async function replaceWindows(
  db: Knex,
  workspaceId: string,
  passes: (Pick<PassContent, 'redemption'> & { id: string })[],
): Promise<void> {
  const ids = passes.map(({ id }) => id)
  await sendSilently(db, rowsOfPasses(db, 'pass_windows', workspaceId, ids).delete())
  await insertWindows(db, workspaceId, passes)
}

export interface PassIdentifier {
  passId: string
  digest: Uint8Array
}

export async function listInactive(
  db: Knex,
  workspaceId: string,
  identifiers: PassIdentifier[],
): Promise<PassIdentifier[]> {
  const rows = await selectForEach<{ n: number }>(
    db,
    workspaceId,
    {
      name: 'inactive-identifiers',
      given: { pass_id: 'uuid', digest: 'text' },
      items: identifiers.map(({ passId, digest }) => ({ pass_id: passId, digest: toHex(digest) })),
    },
    `select n from given where not exists (select 1 from pass_identifiers
      where pass_identifiers.workspace_id = given.workspace_id and pass_identifiers.pass_id = given.pass_id
        and pass_identifiers.digest = ${bytesOfHex(db, 'given.digest')} and active = true)`,
  )
  return rows.map(({ n }) => identifiers[n]!)
}

/**
 * The maximum number of stale codes per pass. It limits the data that doors download. A change deletes excess codes,
 * which then scan as unknown, but never the previous code (decisions/0003).
 */
export const MAX_STALE = 100

/** The maximum number of stale codes that a single change deletes from a pass. */
const TRIMMED = 1_000

/** Activates each identifier for its pass; the previously active ones become stale. The passes must be distinct. */
export async function activateIdentifiers(db: Knex, workspaceId: string, identifiers: PassIdentifier[]): Promise<void> {
  if (identifiers.length === 0) return
  const passIds = identifiers.map(({ passId }) => passId)
  const ofPasses = () => rowsOfPasses(db, 'pass_identifiers', workspaceId, passIds)
  const previous: { pass_id: string; digest: Buffer }[] = await ofPasses()
    .where({ active: true })
    .update({ active: false }, ['pass_id', 'digest'])
  await insertRows(
    db,
    'pass_identifiers',
    identifiers.map(({ passId, digest }) => ({ workspace_id: workspaceId, pass_id: passId, digest, active: true })),
    'on conflict (workspace_id, digest, pass_id) do update set active = excluded.active',
  )
  const older = ofPasses().where({ active: false })
  const kept = previous.map(({ pass_id, digest }) => [pass_id, digest])
  if (kept.length > 0) older.whereNotIn(['pass_id', 'digest'], kept)
  const place = db.raw('row_number() over (partition by pass_id order by digest) as place')
  const tooMany = db
    .from(older.select('pass_id', 'digest', place).as('older'))
    .where('place', '>=', MAX_STALE)
    .where('place', '<', MAX_STALE + TRIMMED)
  await ofPasses().whereIn(['pass_id', 'digest'], tooMany.select('pass_id', 'digest')).delete()
}

async function insertVariables(
  db: Knex,
  workspaceId: string,
  passes: Pick<NewPass, 'id' | 'variables'>[],
): Promise<void> {
  const rows = passes.flatMap((pass) =>
    indexedVariables(pass.variables).map((pair) => ({ workspace_id: workspaceId, ...pair, pass_id: pass.id })),
  )
  await insertRows(db, 'pass_variables', rows)
}

async function insertWindows(
  db: Knex,
  workspaceId: string,
  passes: Pick<NewPass, 'id' | 'redemption'>[],
): Promise<void> {
  const rows = passes.flatMap((pass) =>
    windowDates(pass.redemption).map((date) => ({ workspace_id: workspaceId, start_date: date, pass_id: pass.id })),
  )
  await insertRows(db, 'pass_windows', rows)
}
