import { Args, Flags } from '@oclif/core'
import { roles, scopes } from '../../core/route.ts'
import { isUuidText } from '../../core/uuid.ts'
import type { MadeToken } from '../../server/create-token.ts'
import type { Store } from '../../storage/store.ts'
import type { StoredToken } from '../../storage/workspaces/tokens-repository.ts'
import { repeatable } from '../arguments/list-flags.ts'
import { lifetimeFlag, parseDuration, parseLifetime } from '../arguments/moment.ts'
import { details, localTime, localTimeOr } from '../command/output.ts'
import { itemsCommand, localCommand, type ResourceCommands } from '../command/resource-command.ts'
import type { ListShape } from '../list/shape.ts'
import { workspaceFlags } from '../settings/server-flags.ts'

const shape: ListShape<StoredToken> = {
  columns: [
    { name: 'id', whole: true },
    ['name', 'role'],
    { name: 'projectIds', value: ({ projectIds }) => projectIds?.join(' ') ?? null, title: 'projects', none: 'all' },
    { name: 'lastUsedAt', kind: 'time', title: 'last used', none: 'never' },
    { name: 'expiresAt', kind: 'time', title: 'expires', none: 'never' },
    ['revokedAt'],
    { name: 'replacedBy', title: 'followed by', whole: true },
  ],
}

const tokenArgs = { id: Args.string({ description: 'ID of the token, as in "passes token list".', required: true }) }

const KEEP = 'Keep the token now: it is not shown again.'

const operator = () => import('../../server/operator/operator.ts')

export const commands: ResourceCommands = {
  'token:create': localCommand({
    summary: 'Create an access token.',
    description:
      'Accesses the database directly, not through a server. The token is shown once, because only its digest is ' +
      'stored. By default, the token has all scopes and expires in a year. With --project, the token can access ' +
      'only that project, for example for a door or a partner, and cannot have the webhooks scopes.',
    examples: [
      'token create --name "box office" --scope passes:read --scope passes:write',
      'token create --name ci --role owner --expires-in 30d --json',
      'token create --name "north gate" --project Summerfest --scope scans:read --scope scans:write',
    ],
    flags: {
      ...workspaceFlags,
      name: Flags.string({ summary: 'Purpose of the token.', required: true }),
      role: Flags.option({ options: roles })({
        summary: 'Role of the token; only an owner can manage webhooks and doors, and import passes.',
        default: 'member' as const,
      }),
      scope: Flags.option({ options: scopes, ...repeatable })({
        summary: 'Scope of the token (default: all). Repeatable.',
      }),
      project: Flags.string({
        summary: 'Project (name or ID) that the token can access (default: all). Repeatable.',
        ...repeatable,
      }),
      'expires-in': lifetimeFlag,
    },
    async run({ flags, note }) {
      const { auditOperator, getOrCreateWorkspace, withNewStore } = await operator()
      const { createToken } = await import('../../server/create-token.ts')
      const { findProjectsOfToken } = await import('../../server/operator/manage-tokens.ts')
      const { name, role, scope: scopes, project: named } = flags
      const now = new Date()
      const expiresAt = parseLifetime(flags['expires-in'], now)
      const create = async (store: Store) => {
        const workspace = await getOrCreateWorkspace(store, flags.workspace, now)
        return store.transaction(async (tx) => {
          const projectIds = named && (await findProjectsOfToken(tx, workspace.id, { named, scopes }))
          const created = await createToken(tx, workspace.id, { name, role, scopes, projectIds, expiresAt }, now)
          await auditOperator(tx, workspace.id, { action: 'token.create', targetId: created.token.id }, now)
          return { ...created, workspace }
        })
      }
      return withNewStore(flags.database, create, note)
    },
    value: ({ token, ...made }) => ({
      ...tokenJson({ token, ...made }),
      ...(token.projectIds && { projectIds: token.projectIds }),
    }),
    print: ({ text, token, workspace }) =>
      details([
        ['Token', text],
        ['Id', token.id],
        ['Workspace', workspace.name],
        ['Projects', token.projectIds?.join(' ') ?? null],
        ['Role', token.role],
        ['Scopes', token.scopes.join(' ')],
        ['Expires', localTimeOr(token.expiresAt, 'never')],
      ]),
    note: (_, { flags }) =>
      flags['expires-in'] === undefined
        ? `${KEEP}\nIt expires in a year. To set another time, use --expires-in. To renew the token, run "passes token rotate".`
        : KEEP,
  }),
  'token:list': itemsCommand({
    summary: 'List the tokens of a workspace with their expiry.',
    examples: ['token list', 'token list --workspace acme --json'],
    flags: workspaceFlags,
    async read({ flags }) {
      const { withWorkspace } = await operator()
      return withWorkspace(flags, ({ id }, store) => store.tokens.list(id))
    },
    shape,
    noun: ['token', 'tokens'],
    empty: 'Next: passes token create',
  }),
  'token:revoke': localCommand({
    summary: 'Revoke an access token.',
    description: 'Running servers reject the token within two seconds.',
    examples: [
      'token revoke 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
      'token revoke 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --workspace acme --yes',
    ],
    args: tokenArgs,
    flags: workspaceFlags,
    asks: true,
    async run({ args, flags, ask }) {
      const { auditOperator, OperatorError, withWorkspace } = await operator()
      return withWorkspace(flags, async (workspace, store) => {
        await ask(`Revoke ${args.id} in ${workspace.name}?`)
        const id = isUuidText(args.id) ? args.id.toLowerCase() : undefined
        const now = new Date()
        const revoked = await store.transaction(async (tx) => {
          if (id === undefined || !(await tx.tokens.revoke(workspace.id, id, now))) return false
          await auditOperator(tx, workspace.id, { action: 'token.revoke', targetId: id }, now)
          return true
        })
        if (revoked) return { id: args.id, revoked }
        throw new OperatorError(
          `Token ${args.id} not found in ${workspace.name}. To list its tokens, run "passes token list".`,
        )
      })
    },
    print: ({ id }) => `Revoked ${id}.`,
  }),
  'token:rotate': localCommand({
    summary: 'Replace a token with a new one, and let the old one expire soon.',
    description:
      'The new token has the same name, role, and scopes, and is shown once. The old token works until the overlap ' +
      'ends. Before then, set the new token in every program that uses the old one. To revoke the old token ' +
      'immediately, run "passes token revoke". A token can be rotated once.',
    examples: [
      'token rotate 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
      'token rotate 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --overlap 7d --expires-in 90d --json',
    ],
    args: tokenArgs,
    flags: {
      ...workspaceFlags,
      overlap: Flags.string({ summary: 'Time for which the old token works, such as 15m or 7d.', default: '24h' }),
      'expires-in': lifetimeFlag,
    },
    async run({ args, flags }) {
      const { OperatorError, withWorkspace } = await operator()
      const { rotateToken } = await import('../../server/operator/manage-tokens.ts')
      const at = new Date()
      const overlapSeconds = parseDuration(flags.overlap, '--overlap')
      const options = { overlapSeconds, expiresAt: parseLifetime(flags['expires-in'], at), at }
      if (!isUuidText(args.id)) {
        throw new OperatorError(`${args.id} is not the ID of a token. To list all tokens, run "passes token list".`)
      }
      return withWorkspace(flags, async (workspace, store) => {
        const id = args.id.toLowerCase()
        return { workspace, ...(await store.transaction((tx) => rotateToken(tx, workspace.id, id, options))) }
      })
    },
    value: ({ previous, ...made }) => ({
      ...tokenJson(made),
      previous: { id: previous.id, expiresAt: previous.expiresAt!.toISOString() },
    }),
    print: ({ text, token, previous }) =>
      details([
        ['Token', text],
        ['Id', token.id],
        ['Name', token.name],
        ['Expires', localTimeOr(token.expiresAt, 'never')],
        ['Before it', `${previous.id}, ends ${localTime(previous.expiresAt!)}`],
      ]),
    note: () => KEEP,
  }),
}

function tokenJson({ text, token, workspace }: MadeToken & { workspace: { id: string } }) {
  const { id, name, role, scopes, expiresAt } = token
  return { id, token: text, name, role, scopes, workspaceId: workspace.id, expiresAt: expiresAt?.toISOString() ?? null }
}
