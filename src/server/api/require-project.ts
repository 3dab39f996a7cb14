import { ApiError } from '../../core/errors.ts'
import type { Repositories } from '../../storage/store.ts'

/**
 * That there is such a project, and the token sees it.
 * @throws ApiError NOT_FOUND
 */
export async function requireProject(
  { projects }: Pick<Repositories, 'projects'>,
  workspaceId: string,
  projectId: string,
): Promise<void> {
  if (!(await projects.find(workspaceId, projectId))) throw noProject(projectId)
}

/** The same, and that nobody changes or deletes it until the transaction ends. @throws ApiError NOT_FOUND */
export async function holdProject(
  { projects }: Pick<Repositories, 'projects'>,
  workspaceId: string,
  projectId: string,
): Promise<void> {
  if (!(await projects.findForUpdate(workspaceId, projectId))) throw noProject(projectId)
}

/** The answer where there is no such project. */
export function noProject(projectId: string): ApiError {
  return new ApiError('NOT_FOUND', { message: 'There is no such project.', details: { projectId } })
}
