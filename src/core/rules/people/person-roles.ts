import { isWebhooksScope, type Role, type Route, type Scope, scopes } from '../../route.ts'

/** The roles of people who sign in. Each role grants a set of token scopes. */
export const personRoles = ['owner', 'editor', 'support', 'door-lead', 'reader'] as const
export type PersonRole = (typeof personRoles)[number]

export function isPersonRole(text: string): text is PersonRole {
  return personRoles.some((role) => role === text)
}

export interface Grant {
  role: PersonRole
  /** The only projects in which the role applies; null for the whole workspace. */
  projectIds: string[] | null
}

/** The permissions of a person for one request, in the same form as the permissions of a token. */
export interface Permissions {
  role: Role
  scopes: Scope[]
  projectIds: string[] | null
}

const readScopes = scopes.filter((scope) => scope.endsWith(':read') && !isWebhooksScope(scope))

const scopesOf: Record<PersonRole, readonly Scope[]> = {
  owner: scopes,
  editor: [
    'passes:read',
    'passes:write',
    'pass-notifications:read',
    'pass-notifications:write',
    'scans:read',
    'templates:read',
    'templates:write',
  ],
  support: [...readScopes, 'passes:write', 'pass-notifications:write', 'scans:write'],
  'door-lead': ['passes:read', 'scans:read', 'scans:write'],
  reader: readScopes,
}

/**
 * Returns the permissions of a person for a route: the sum of the roles that permit the route. Other roles do not
 * count, because adding them would extend a role in one project to another project. If no role permits the route, the
 * result does not permit the route either.
 */
export function permissionsFor(
  grants: readonly Grant[],
  { scope, role, forDoorLeads }: Pick<Route, 'scope' | 'role' | 'forDoorLeads'>,
): Permissions {
  const withScope = grants.filter((grant) => scope === null || scopesOfGrant(grant).includes(scope))
  const permitting = withScope.filter(
    (grant) => role === undefined || grant.role === 'owner' || (forDoorLeads && grant.role === 'door-lead'),
  )
  if (permitting.length === 0) return sumOf(withScope)
  return { ...sumOf(permitting), ...(role && { role }) }
}

function sumOf(grants: readonly Grant[]): Permissions {
  const given = new Set(grants.flatMap(scopesOfGrant))
  const isWhole = grants.some(({ projectIds }) => projectIds === null)
  return {
    role: grants.some(({ role }) => role === 'owner') ? 'owner' : 'member',
    scopes: scopes.filter((scope) => given.has(scope)),
    projectIds: isWhole ? null : [...new Set(grants.flatMap(({ projectIds }) => projectIds ?? []))].sort(),
  }
}

function scopesOfGrant({ role, projectIds }: Grant): Scope[] {
  return scopesOf[role].filter((scope) => !(projectIds && isWebhooksScope(scope)))
}
