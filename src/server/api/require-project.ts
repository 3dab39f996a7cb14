import { ApiError } from '../../core/errors.ts'
import type { Repositories } from '../../storage/store.ts'

/** Checks that a project exists and that the token can access it. @throws ApiError NOT_FOUND */
export async function requireProject(
  { projects }: Pick<Repositories, 'projects'>,
  workspaceId: string,
  projectId: string,
): Promise<void> {
  if (!(await projects.find(workspaceId, projectId))) throw noProject(projectId)
}

/** Locks a project until the transaction ends. @throws ApiError NOT_FOUND if it does not exist for the token */
export async function holdProject(
  { projects }: Pick<Repositories, 'projects'>,
  workspaceId: string,
  projectId: string,
): Promise<void> {
  if (!(await projects.findForUpdate(workspaceId, projectId))) throw noProject(projectId)
}

export function noProject(projectId: string): ApiError {
  return new ApiError('NOT_FOUND', { message: 'Project not found.', details: { projectId } })
}
