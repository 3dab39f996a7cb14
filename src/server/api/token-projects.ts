import { ApiError, validationError } from '../../core/errors.ts'
import type { RequestContext } from '../context.ts'
import { noProject } from './require-project.ts'

/**
 * The project that is scanned for. A token that is bound to one project says so by itself; one that is bound to several
 * must name it, so that what matches nothing is recorded in a project of its own.
 * @throws ApiError NOT_FOUND for a project that the token does not see, VALIDATION_ERROR where one must be named
 */
export function projectOfScan(projectId: string | undefined, { token }: RequestContext): string | undefined {
  const { projectIds } = token
  if (!projectIds) return projectId
  const [only, ...others] = projectIds
  if (projectId === undefined && others.length > 0) {
    throw validationError([{ path: ['projectId'], message: 'Name the project: the token is bound to several' }])
  }
  if (projectId !== undefined && !projectIds.includes(projectId)) {
    throw noProject(projectId)
  }
  return projectId ?? only
}

/**
 * The project of what a device reports: its items name none.
 * @throws ApiError FORBIDDEN for a token that is bound to several
 */
export function projectOfReport({ token: { projectIds } }: RequestContext): string | undefined {
  const [only, ...others] = projectIds ?? []
  if (others.length === 0) return only
  const message = 'The token is bound to several projects: report scans with one that is bound to one.'
  throw new ApiError('FORBIDDEN', { message, details: { projectIds } })
}

/**
 * What is made must belong to a project that its maker sees.
 * @throws ApiError FORBIDDEN for a token that is bound to projects
 */
export function requireWholeWorkspace({ token }: RequestContext, message: string): void {
  if (!token.projectIds) return
  throw new ApiError('FORBIDDEN', { message, details: { projectIds: token.projectIds } })
}
