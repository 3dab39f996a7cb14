import type { ScanStatsByProject } from '../../core/contract/scans.ts'
import type { Scope } from '../../core/route.ts'
import { type Api, Refusal } from './api.ts'
import { listAll } from './pages.ts'

/** What may be looked at; its id stands for the name where the token may not read it. */
export interface Project {
  id: string
  name: string
}

/**
 * The projects of a token, newest first, by whichever way its scopes allow: the newest 1,000 where there are more.
 * @param wanted the id of one that is found however old it is
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

/** Whether a token that is bound to none can know of projects at all. */
export function canListProjects(scopes: readonly Scope[]): boolean {
  return scopes.includes('templates:read') || scopes.includes('scans:read')
}

/** Undefined where there is none, or the text is no id. */
async function findProject(api: Api, id: string): Promise<Project | undefined> {
  try {
    return await api.projects.get({ params: { id } })
  } catch (error) {
    if (error instanceof Refusal && [400, 404].includes(error.status)) return undefined
    throw error
  }
}

async function idsOfScans(api: Api): Promise<string[]> {
  const { items } = (await api.scans.stats({ query: { groupBy: 'project' } })) as ScanStatsByProject
  return items.flatMap(({ projectId }) => projectId ?? [])
}
