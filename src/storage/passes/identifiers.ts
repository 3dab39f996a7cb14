import type { Knex } from 'knex'
import { selectForEach } from '../db/bulk-rows.ts'
import { bytesOfHex, listOf, parseList } from '../db/dialect.ts'

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

  constructor(db: Knex) {
    this.db = db
  }

  /**
   * For each code the passes that carry it now, or else those that once did. Where a project is named and has any of
   * either, those of the project alone: what a pass of its own carried once goes before what one elsewhere carries.
   */
  async listPassIds(workspaceId: string, codes: ScannedCode[]): Promise<string[][]> {
    const inProject = await this.match(
      workspaceId,
      codes.filter(({ projectId }) => projectId !== undefined),
    )
    const anywhere = await this.match(
      workspaceId,
      codes.filter((code) => !inProject.get(code)?.length).map(({ digest }) => ({ digest })),
    )
    const byDigest = new Map([...anywhere].map(([{ digest }, ids]) => [digest, ids]))
    return codes.map((code) => {
      const found = inProject.get(code) ?? []
      return found.length > 0 ? found : byDigest.get(code.digest)!
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
