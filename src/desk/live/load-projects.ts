import type { ScanStatsByProject } from '../../core/contract/scans/scans.ts'
import type { Scope } from '../../core/route.ts'
import { type Api, ApiRejection, listAll } from './desk-api.ts'

/** A project that the page can show. If the token cannot read the project, `name` is the id. */
export interface Project {
  id: string
  name: string
}

/**
 * Lists the newest 1,000 projects of a token, newest first. Sends only requests that the token's scopes allow.
 * @param wanted the id of a project that is included regardless of its age
 */
export async function listProjects(
  api: Api,
  scopes: readonly Scope[],
  { boundTo, wanted, isPerson }: { boundTo: readonly string[] | undefined; wanted: string | null; isPerson: boolean },
): Promise<Project[]> {
  if (scopes.includes('templates:read')) {
    const { items } = await listAll(api.projects.list, {})
    const isListed = wanted === null || items.some(({ id, name }) => id === wanted || name === wanted)
    const older = isListed ? undefined : await findProject(api, wanted)
    return [...items, ...(older ? [older] : [])].map(({ id, name }) => ({ id, name }))
  }
  if (isPerson && boundTo === undefined && scopes.includes('scans:read')) return projectsOfDoorLead(api)
  const ids = boundTo ?? (scopes.includes('scans:read') ? await idsOfScans(api) : [])
  return ids.map((id) => ({ id, name: id }))
}

/** Returns whether a token with these scopes can list projects, if the token is not bound to projects. */
export function canListProjects(scopes: readonly Scope[]): boolean {
  return scopes.includes('templates:read') || scopes.includes('scans:read')
}

/** Returns `undefined` if the project does not exist or the text is not an ID. */
async function findProject(api: Api, id: string): Promise<Project | undefined> {
  try {
    return await api.projects.get({ params: { id } })
  } catch (error) {
    if (error instanceof ApiRejection && [400, 404].includes(error.status)) return undefined
    throw error
  }
}

async function idsOfScans(api: Api): Promise<string[]> {
  const { items } = (await api.scans.stats({ query: { groupBy: 'project' } })) as ScanStatsByProject
  return items.flatMap(({ projectId }) => projectId ?? [])
}

/**
 * Returns the projects of all scans and doors, and of the newest 100 passes. The projects of scans are not enough,
 * because a door lead invites phones before the first scan.
 */
async function projectsOfDoorLead(api: Api): Promise<Project[]> {
  const [scanned, doors, passes] = await Promise.all([
    idsOfScans(api),
    listAll(api.doors.list, { revoked: false }),
    api.passes.list({ query: { limit: 100 } }),
  ])
  const ids = [...scanned, ...passes.items.flatMap(({ projectId }) => projectId ?? [])]
  const names = new Map(ids.map((id) => [id, id]))
  for (const { projectId, projectName } of doors.items) names.set(projectId, projectName ?? projectId)
  return [...names].map(([id, name]) => ({ id, name }))
}
