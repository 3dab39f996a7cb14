import { type Client, walk } from '../../client/client.ts'
import type { PassStatus } from '../../core/contract/pass-status.ts'
import type { Pass, passes as routes } from '../../core/contract/passes.ts'
import type { RouteCall } from '../../core/route.ts'
import { projectQuery } from '../arguments/list.ts'
import type { CheckedRow } from '../bulk/row-action.ts'
import { CliError, UsageError } from '../command/errors.ts'

export interface UpgradeScope {
  templateId: string | undefined
  /** An id, or none for passes without a project. */
  projectId: string | undefined
  to: number | 'latest'
  statuses: readonly PassStatus[]
}

/** Which passes are to be moved, as a query of the list; several templates have a newest version each. */
export interface UpgradePlan {
  query: NonNullable<RouteCall<typeof routes.list>['query']>
  /** Undefined where each pass goes to the newest version of its own template. */
  version: number | undefined
  /** Passes that the query finds; some may be on the newest version already where several templates are asked for. */
  total: number
}

/** One pass on its way to a version. */
export interface Upgrade {
  passId: string
  version: number
}

/** @throws UsageError, CliError where there is no such published version */
export async function planUpgrade(client: Client, scope: UpgradeScope): Promise<UpgradePlan> {
  const { templateId, projectId, statuses } = scope
  const version = await versionOf(client, scope)
  const query: UpgradePlan['query'] = {
    ...(templateId !== undefined && { templateId }),
    ...projectQuery(projectId === undefined ? undefined : [projectId]),
    status: [...statuses],
    ...(version !== undefined && { templateVersion: `lte:${version - 1}` }),
    // Oldest first by a field that never changes: what is moved meanwhile takes nobody's place.
    sortBy: 'createdAt',
    sortDir: 'asc',
  }
  const { total } = await client.passes.list({ query: { ...query, limit: 1 } })
  return { query, version, total }
}

async function versionOf(client: Client, { templateId, projectId, to }: UpgradeScope): Promise<number | undefined> {
  if (templateId === undefined) {
    if (projectId === undefined) throw new UsageError('Which passes? Give --template, --project or both')
    if (to !== 'latest') throw new UsageError('A number belongs to one template: give --template with --to')
    return undefined
  }
  const versions = await client.templateVersions.list({ query: { templateId } })
  const published = versions.filter(({ stage }) => stage === 'published').map(({ version }) => version)
  const version = to === 'latest' ? Math.max(...published) : to
  if (published.includes(version)) return version
  throw new CliError(`Template ${templateId} has no published version${to === 'latest' ? '' : ` ${to}`}`, {
    code: 'NOT_FOUND',
    hint: `passes template versions ${templateId} lists what there is; passes template publish publishes a draft.`,
  })
}

/**
 * The passes of a plan as rows: what is on its version already is left out. `bytes` counts the passes that were looked
 * at, and the one cell is the external id, so that a failures file is a file for `passes update`.
 */
export async function* upgradeRows(client: Client, plan: UpgradePlan): AsyncGenerator<CheckedRow<Upgrade>> {
  let seen = 0
  let line = 1
  for await (const pass of walk(client.passes.list, plan.query)) {
    seen += 1
    const version = plan.version ?? newerVersion(pass)
    if (version === undefined) continue
    line += 1
    const item = { passId: pass.id, version }
    yield { cells: [pass.externalPassId], line, bytes: seen, problem: undefined, item, size: 0 }
  }
}

function newerVersion({ templateVersion, latestTemplateVersion }: Pass): number | undefined {
  if (templateVersion === null || latestTemplateVersion === null) return undefined
  return latestTemplateVersion > templateVersion ? latestTemplateVersion : undefined
}
