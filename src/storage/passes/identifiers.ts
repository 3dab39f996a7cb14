import type { Knex } from 'knex'
import { indexedVariables } from '../../core/rules/lists/search.ts'
import { windowDates } from '../../core/rules/redemption/redemption-windows.ts'
import { insertRows, selectForEach } from '../db/bulk-rows.ts'
import { bytesOfHex, listOf, parseList, rowsOfPasses } from '../db/dialect.ts'
import { sendSilently } from '../db/prepared.ts'
import type { ProjectScope } from '../db/project-scope.ts'
import type { NewPass, PassContent } from './pass-row.ts'

/** The most passes of one identifier that are looked at. */
const MAX_MATCHES = 1_000

/** What a scanner read, by SHA-256, and the project that it is scanned for. */
export interface ScannedCode {
  digest: Uint8Array
  projectId?: string | undefined
}

interface Match {
  n: number
  /** Passes that carry the identifier now and that once did, as JSON. */
  now: string | string[]
  once: string | string[]
}

/** What scanners read off passes, by SHA-256. */
export class Identifiers {
  private readonly db: Knex
  private readonly scope: ProjectScope

  constructor(db: Knex, scope?: ProjectScope) {
    this.db = db
    this.scope = scope
  }

  /**
   * For each code the passes that carry it now, or else those that once did. Where a project is named and has any of
   * either, those of the project alone: what a pass of its own carried once goes before what one elsewhere carries. Who is
   * bound to projects names one of them, and finds nothing elsewhere.
   */
  async listPassIds(workspaceId: string, codes: ScannedCode[]): Promise<string[][]> {
    const inProject = await this.match(
      workspaceId,
      codes.filter(({ projectId }) => projectId !== undefined && (!this.scope || this.scope.includes(projectId))),
    )
    const elsewhere = this.scope ? [] : codes.filter((code) => !inProject.get(code)?.length)
    const anywhere = await this.match(
      workspaceId,
      elsewhere.map(({ digest }) => ({ digest })),
    )
    const byDigest = new Map([...anywhere].map(([{ digest }, ids]) => [digest, ids]))
    return codes.map((code) => {
      const found = inProject.get(code) ?? []
      return found.length > 0 ? found : (byDigest.get(code.digest) ?? [])
    })
  }

  /** Of codes that all name a project, or none of them. */
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
        const ids = parseList(now)
        return [codes[n]!, ids.length > 0 ? ids : parseList(once)]
      }),
    )
  }

  /** The first of each by id. */
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

/** As text, which goes to the database among others. */
export function toHex(digest: Uint8Array): string {
  return Buffer.from(digest).toString('hex')
}

/** The rows beside a pass that lists and scans find it by. */

/** Writes what new passes are found by: their codes, variables and dates of validity. */
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

/** Makes the rows of one pass agree with its new content. */
export async function replaceIndex(db: Knex, workspaceId: string, pass: PassContent & { id: string }): Promise<void> {
  for (const table of ['pass_variables', 'pass_windows'] as const) {
    await sendSilently(db, rowsOfPasses(db, table, workspaceId, [pass.id]).delete())
  }
  await insertVariables(db, workspaceId, [pass])
  await insertWindows(db, workspaceId, [pass])
}

/** Whether the identifier is the one that a scanner reads off the pass now. */
export async function isActiveIdentifier(
  db: Knex,
  workspaceId: string,
  passId: string,
  digest: Uint8Array,
): Promise<boolean> {
  const key = { workspace_id: workspaceId, pass_id: passId, active: true, digest }
  return (await db('pass_identifiers').where(key).first('pass_id')) !== undefined
}

/**
 * As many codes as a pass is known by that it no longer shows; doors get all of them. Who shows another one is not known, and not
 * let in either. The last one is always among them (decisions/0003).
 */
export const MAX_STALE = 100

/** What one change makes room by, where more of them were kept before there was a bound. */
const TRIMMED = 1_000

/** Makes one identifier of a pass the active one; what was active is stale from now on. */
export async function activateIdentifier(
  db: Knex,
  workspaceId: string,
  passId: string,
  digest: Uint8Array,
): Promise<void> {
  const ofPass = () => rowsOfPasses(db, 'pass_identifiers', workspaceId, [passId])
  const [last]: { digest: Buffer }[] = await ofPass().where({ active: true }).update({ active: false }, 'digest')
  await db('pass_identifiers')
    .insert({ workspace_id: workspaceId, pass_id: passId, digest, active: true })
    .onConflict(['workspace_id', 'digest', 'pass_id'])
    .merge(['active'])
  const older = () => (last ? ofPass().where({ active: false }).whereNot(last) : ofPass().where({ active: false }))
  const tooMany = older()
    .orderBy('digest')
    .offset(MAX_STALE - 1)
    .limit(TRIMMED)
  await older().whereIn('digest', tooMany.select('digest')).delete()
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
