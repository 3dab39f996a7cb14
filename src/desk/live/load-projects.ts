import type { ScanStatsByProject } from '../../core/contract/scans.ts'
import type { Scope } from '../../core/route.ts'
import { type Api, ApiRejection, listAll } from './desk-api.ts'

/** A project that the page can show. Its id replaces the name if the token cannot read it. */
export interface Project {
  id: string
  name: string
}

/**
 * Lists the newest 1,000 projects of a token, newest first, with a request that the scopes of the token allow.
 * @param wanted the id of a project that is included regardless of its age
 */
export async function listProjects(
  api: Api,
  scopes: readonly Scope[],
  { boundTo, wanted }: { boundTo: readonly string[] | undefined; wanted: string | null },
): Promise<Project[]> {
  if (scopes.includes('templates:read')) {
    const { items } = await listAll(api.projects.list, {})
    const isListed = wanted === null || items.some(({ id, name }) => id === wanted || name === wanted)
    const older = isListed ? undefined : await findProject(api, wanted)
    return [...items, ...(older ? [older] : [])].map(({ id, name }) => ({ id, name }))
  }
  const ids = boundTo ?? (scopes.includes('scans:read') ? await idsOfScans(api) : [])
  return ids.map((id) => ({ id, name: id }))
}

/** Returns whether a token that is not bound to projects can list them. */
export function canListProjects(scopes: readonly Scope[]): boolean {
  return scopes.includes('templates:read') || scopes.includes('scans:read')
}

/** Returns `undefined` if the project does not exist or the text is not an id. */
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
