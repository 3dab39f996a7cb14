import { Args, Flags } from '@oclif/core'
import { comparableEmail } from '../../core/rules/people/email.ts'
import { personRoles } from '../../core/rules/people/person-roles.ts'
import type { listMembers } from '../../server/operator/manage-members.ts'
import type { Store } from '../../storage/store.ts'
import { repeatable } from '../arguments/list-flags.ts'
import { UsageError } from '../command/cli-error.ts'
import { counted, details } from '../command/output.ts'
import { itemsCommand, localCommand, type ResourceCommands } from '../command/resource-command.ts'
import type { ListShape } from '../list/shape.ts'
import { workspaceFlags } from '../settings/server-flags.ts'

type ListedMember = Awaited<ReturnType<typeof listMembers>>[number]

const shape: ListShape<ListedMember> = {
  columns: [
    { name: 'email', whole: true },
    {
      name: 'roles',
      value: ({ roles }) =>
        roles.map(({ role, projectIds }) => (projectIds ? `${role} (${projectIds.join(' ')})` : role)).join(', '),
      none: 'from a group',
    },
    { name: 'sessions', value: ({ sessions }) => sessions.length },
    { name: 'lastUsedAt', value: ({ sessions }) => lastUse(sessions), kind: 'time', title: 'last used', none: 'never' },
  ],
}

const emailArgs = { email: Args.string({ description: 'Email address of the person.', required: true }) }

const operator = () => import('../../server/operator/operator.ts')
const members = () => import('../../server/operator/manage-members.ts')

export const commands: ResourceCommands = {
  'member:add': localCommand({
    summary: 'Give a person a role in a workspace.',
    description:
      'The person signs in to the desk (the page /desk of the server) with this email address, at the provider of ' +
      '"passes serve --oidc-issuer". If a person has several roles, their permissions add up. With --project, the ' +
      'role applies only in this project. If the person already has the role, the new projects replace the earlier ' +
      'ones. Roles: owner can do everything; editor writes templates, passes, and notifications; support writes ' +
      'passes, notifications, and scans; door-lead writes scans, and manages doors and zones; reader only reads.',
    examples: [
      'member add anna@example.com --role support',
      'member add ben@example.com --role door-lead --project Summerfest --workspace acme',
    ],
    args: emailArgs,
    flags: {
      ...workspaceFlags,
      role: Flags.option({ options: personRoles })({ summary: 'Role of the person.', required: true }),
      project: Flags.string({
        summary: 'Project (name or ID) in which the role applies (default: all). Repeatable.',
        ...repeatable,
      }),
    },
    async run({ args, flags, note }) {
      const { getOrCreateWorkspace, withNewStore } = await operator()
      const { addMember } = await members()
      const { role, project } = flags
      const email = parseEmail(args.email)
      const now = new Date()
      const add = async (store: Store) => {
        const workspace = await getOrCreateWorkspace(store, flags.workspace, now)
        return { workspace, ...(await addMember(store, workspace.id, { email, role, project }, now)) }
      }
      return withNewStore(flags.database, add, note)
    },
    value: ({ member: { id, email, role, projectIds, workspaceId } }) => ({ id, email, role, projectIds, workspaceId }),
    print: ({ member, workspace }) =>
      details([
        ['Email', member.email],
        ['Role', member.role],
        ['Workspace', workspace.name],
        ['Projects', member.projectIds?.join(' ') ?? 'all'],
      ]),
  }),
  'member:list': itemsCommand({
    summary: 'List the members of a workspace with their roles and sessions.',
    description:
      'Also lists people with a session who are not members, but got a role from a group at the sign-in provider.',
    examples: ['member list', 'member list --workspace acme --json'],
    flags: workspaceFlags,
    async read({ flags }) {
      const { withWorkspace } = await operator()
      const { listMembers } = await members()
      return withWorkspace(flags, ({ id }, store) => listMembers(store, id, new Date()))
    },
    shape,
    noun: ['member', 'members'],
    empty: 'Next: passes member add',
  }),
  'member:remove': localCommand({
    summary: 'Remove a person, or one of their roles, from a workspace.',
    description:
      'Running servers apply the change within two seconds. Without --role, the sessions of the person in the workspace ' +
      'end. If a group of the sign-in provider gives a role, remove the person from the group, too.',
    examples: ['member remove anna@example.com', 'member remove anna@example.com --role support --yes'],
    args: emailArgs,
    flags: {
      ...workspaceFlags,
      role: Flags.option({ options: personRoles })({ summary: 'Only this role (default: all roles).' }),
    },
    asks: true,
    async run({ args, flags, ask }) {
      const { withWorkspace } = await operator()
      const { removeMember } = await members()
      const email = parseEmail(args.email)
      return withWorkspace(flags, async (workspace, store) => {
        await ask(`Remove ${flags.role ? `the role ${flags.role} of ${email}` : email} from ${workspace.name}?`)
        return removeMember(store, workspace.id, { email, role: flags.role }, new Date())
      })
    },
    print: ({ email, roles, sessions }) =>
      `Removed ${counted(roles, 'role')} of ${email}, and ended ${counted(sessions, 'session')}.`,
  }),
  'member:sessions:revoke': localCommand({
    summary: 'End the sessions of a person in a workspace.',
    description: 'Running servers reject the sessions within two seconds. The person can sign in again.',
    examples: ['member sessions revoke anna@example.com', 'member sessions revoke anna@example.com --workspace acme'],
    args: emailArgs,
    flags: workspaceFlags,
    async run({ args, flags }) {
      const { withWorkspace } = await operator()
      const { revokeSessions } = await members()
      const email = parseEmail(args.email)
      return withWorkspace(flags, ({ id }, store) => revokeSessions(store, id, email, new Date()))
    },
    print: ({ email, sessions }) => `Ended ${counted(sessions, 'session')} of ${email}.`,
  }),
}

function parseEmail(text: string): string {
  const email = comparableEmail(text)
  if (email === undefined) throw new UsageError(`${text} is not an email address`)
  return email
}

function lastUse(sessions: ListedMember['sessions']): Date | null {
  const times = sessions.map(({ lastUsedAt }) => lastUsedAt.getTime())
  return times.length > 0 ? new Date(Math.max(...times)) : null
}
