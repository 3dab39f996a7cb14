import type { ScanStatsByProject } from '../../core/contract/scans.ts'
import type { Scope } from '../../core/route.ts'
import type { Api } from './api.ts'

/** What may be looked at; its id stands for the name where the token may not read it. */
export interface Project {
  id: string
  name: string
}

/** More are found by `?project=`, which takes an id as well. */
const MAX_PROJECTS = 100

/** The projects of a token, newest first, by whichever way its scopes allow. */
export async function listProjects(
  api: Api,
  scopes: readonly Scope[],
  boundTo: readonly string[] | undefined,
): Promise<Project[]> {
  if (scopes.includes('templates:read')) {
    const { items } = await api.projects.list({ query: { limit: MAX_PROJECTS } })
    return items.map(({ id, name }) => ({ id, name }))
  }
  const ids = boundTo ?? (scopes.includes('scans:read') ? await idsOfScans(api) : [])
  return ids.map((id) => ({ id, name: id }))
}

async function idsOfScans(api: Api): Promise<string[]> {
  const { items } = (await api.scans.stats({ query: { groupBy: 'project' } })) as ScanStatsByProject
  return items.flatMap(({ projectId }) => projectId ?? [])
}
