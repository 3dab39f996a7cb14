import type { Knex } from 'knex'
import { indexedVariables } from '../../core/rules/lists/search.ts'
import { windowDates } from '../../core/rules/redemption/redemption-windows.ts'
import { insertRows, selectForEach } from '../db/bulk-rows.ts'
import { rowsOfPasses } from '../db/dialect.ts'
import { sendSilently } from '../db/prepared.ts'
import { Repository } from '../db/repository.ts'
import { bytesOfHex, listOf, parseList } from '../db/values.ts'
import type { NewPass, PassContent } from './pass-row.ts'

/** The maximum number of passes that are checked per identifier. */
const MAX_MATCHES = 1_000

/** The SHA-256 digest of a scanned code, and the project for which it is scanned. */
export interface ScannedCode {
  digest: Uint8Array
  projectId?: string | undefined
}

interface Match {
  n: number
  /** The IDs of the passes that have the identifier now, and of those that had it earlier, as JSON. */
  now: string | string[]
  once: string | string[]
}

/** The codes that scanners read from passes, as SHA-256 digests. */
export class Identifiers extends Repository {
  /**
   * Returns the IDs of the passes that have each code now or, if none has it, of the passes that had it earlier. If the given
   * project has passes of either kind, returns only these: a stale code of the project takes precedence over a current code
   * elsewhere. A caller that is limited to projects finds only passes of the given project.
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

  /** Matches codes that either all name a project or all name none. */
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

  /** Returns the SQL for the first matches of each code, by ID. */
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

/** Replaces the index rows of a pass after its content changed. */
export async function replaceIndex(db: Knex, workspaceId: string, pass: PassContent & { id: string }): Promise<void> {
  for (const table of ['pass_variables', 'pass_windows'] as const) {
    await sendSilently(db, rowsOfPasses(db, table, workspaceId, [pass.id]).delete())
  }
  await insertVariables(db, workspaceId, [pass])
  await insertWindows(db, workspaceId, [pass])
}

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
 * The maximum number of stale codes per pass, which doors download. Older codes are rejected as unknown. The previous code is
 * always kept (decisions/0003).
 */
export const MAX_STALE = 100

/** The maximum number of codes that one change deletes. */
const TRIMMED = 1_000

/** Makes an identifier of a pass the active one. The previous one becomes stale. */
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
