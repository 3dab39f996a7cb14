import { existsSync, readFileSync } from 'node:fs'
import { Flags } from '@oclif/core'
import { isPersonRole, personRoles } from '../../core/rules/people/person-roles.ts'
import { repeatable } from '../arguments/list-flags.ts'
import { UsageError } from '../command/cli-error.ts'

export const oidcFlags = {
  'oidc-issuer': Flags.url({
    summary:
      'Issuer of the OpenID Connect provider, such as https://login.example.com (default: no sign-in). People sign ' +
      'in there to use the desk, the page /desk of this server.',
  }),
  'oidc-client-id': Flags.string({ summary: 'Client ID of this server at the provider.' }),
  'oidc-client-secret': Flags.string({
    summary: 'Client secret at the provider: a file; PASSES_OIDC_CLIENT_SECRET can also contain the secret itself.',
  }),
  'oidc-trust-email': Flags.boolean({
    summary: 'Accept email addresses that the provider does not mark as verified. Entra ID, for example, marks none.',
  }),
  'oidc-roles-claim': Flags.string({
    summary:
      'Claim with the groups of a person. A group with the name of a role gives this role in the workspace "default" ' +
      '(default: only members have roles).',
  }),
  'oidc-role-map': Flags.string({
    summary:
      'Role of a group, as GROUP=ROLE, or GROUP=ROLE@WORKSPACE for a workspace other than "default". Repeatable, or ' +
      'separated by commas.',
    ...repeatable,
    default: [],
  }),
}

interface OidcFlags {
  'oidc-issuer'?: URL | undefined
  'oidc-client-id'?: string | undefined
  'oidc-client-secret'?: string | undefined
  'oidc-trust-email': boolean
  'oidc-roles-claim'?: string | undefined
}

/**
 * Returns the settings of the provider; undefined without an issuer.
 * @param roleMap the values of --oidc-role-map
 * @throws UsageError
 */
export function oidcConfig(flags: OidcFlags, roleMap: readonly string[]) {
  const { 'oidc-issuer': issuer, 'oidc-client-id': clientId, 'oidc-client-secret': secret } = flags
  const rolesClaim = flags['oidc-roles-claim']
  const given = { 'oidc-client-id': clientId, 'oidc-client-secret': secret, 'oidc-roles-claim': rolesClaim }
  if (!issuer) {
    const alone = Object.entries(given).find(([, value]) => value !== undefined)?.[0]
    if (alone) throw new UsageError(`--${alone} has no effect without --oidc-issuer`)
    return undefined
  }
  if (!clientId) throw new UsageError('--oidc-issuer needs --oidc-client-id')
  if (!secret) throw new UsageError('--oidc-issuer needs --oidc-client-secret')
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(issuer.hostname)
  if (issuer.protocol !== 'https:' && !(issuer.protocol === 'http:' && isLoopback)) {
    throw new UsageError('--oidc-issuer must begin with https://')
  }
  if (issuer.search || issuer.hash || issuer.username || issuer.password) {
    throw new UsageError('--oidc-issuer must contain no user, query, or fragment')
  }
  if (roleMap.length > 0 && rolesClaim === undefined) {
    throw new UsageError('--oidc-role-map needs --oidc-roles-claim')
  }
  return {
    issuer,
    clientId,
    clientSecret: readClientSecret(secret),
    trustsEmail: flags['oidc-trust-email'],
    rolesClaim,
    groupRoles: roleMap.map(parseGroupRole),
  }
}

function readClientSecret(given: string): string {
  if (!existsSync(given)) {
    if (!/^\.{0,2}\//.test(given)) return given
    throw new UsageError(`--oidc-client-secret: file ${given} not found`)
  }
  const secret = readFileSync(given, 'utf8').trim()
  if (secret === '') throw new UsageError(`--oidc-client-secret: file ${given} is empty`)
  return secret
}

function parseGroupRole(text: string) {
  const [, group, role, workspace = 'default'] = /^(.+)=([a-z-]+)(?:@(.+))?$/s.exec(text) ?? []
  if (group !== undefined && role !== undefined && isPersonRole(role)) return { group, role, workspace }
  throw new UsageError(`--oidc-role-map must be GROUP=ROLE with one of the roles ${personRoles.join(', ')}`, {
    hint: 'write it like Staff=editor, or Staff=editor@acme for the workspace acme.',
  })
}
