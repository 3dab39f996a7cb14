import { ApiError, validationError } from '../../core/errors.ts'
import type { Repositories } from '../../storage/store.ts'
import type { RequestContext } from '../context.ts'

/**
 * Returns the project of a scan: `projectId`, or the only project of the token. If the token has several projects, the
 * request must name the project, because a scan without a matching pass is also recorded in a project.
 * @throws ApiError NOT_FOUND if the token cannot access the project, VALIDATION_ERROR if the request must name one
 */
export function projectOfScan(projectId: string | undefined, { token }: RequestContext): string | undefined {
  const { projectIds } = token
  if (!projectIds) return projectId
  const [only, ...others] = projectIds
  if (projectId === undefined && others.length > 0) {
    throw validationError([{ path: ['projectId'], message: 'The token is bound to several projects: set projectId' }])
  }
  if (projectId !== undefined && !projectIds.includes(projectId)) {
    throw noProject(projectId)
  }
  return projectId ?? only
}

/**
 * Returns the project of reported scans: the project of the token, because reports do not name a project.
 * @throws ApiError FORBIDDEN if the token has several projects
 */
export function projectOfReport({ token: { projectIds } }: RequestContext): string | undefined {
  const [only, ...others] = projectIds ?? []
  if (others.length === 0) return only
  const message = 'The token is bound to several projects. Upload scans with a token that is bound to one project.'
  throw new ApiError('FORBIDDEN', { message, details: { projectIds } })
}

/** Requires a token for the whole workspace. @throws ApiError FORBIDDEN if the token is bound to projects */
export function requireWholeWorkspace({ token }: RequestContext, message: string): void {
  if (!token.projectIds) return
  throw new ApiError('FORBIDDEN', { message, details: { projectIds: token.projectIds } })
}

/** @throws ApiError NOT_FOUND if the project does not exist, or the token cannot access it */
export async function requireProject(
  { projects }: Pick<Repositories, 'projects'>,
  workspaceId: string,
  projectId: string,
): Promise<void> {
  if (!(await projects.find(workspaceId, projectId))) throw noProject(projectId)
}

/**
 * Locks a project until the transaction ends.
 * @throws ApiError NOT_FOUND if the project does not exist, or the token cannot access it
 */
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
