import type { PersonRole } from '../../core/rules/people/person-roles.ts'
import type { StoredMember } from '../../storage/people/members-repository.ts'
import type { Store } from '../../storage/store.ts'
import { findProjectsOfToken } from './manage-tokens.ts'
import { auditOperator, OperatorError } from './operator.ts'

/** @throws OperatorError if a project is missing or ambiguous */
export function addMember(
  store: Store,
  workspaceId: string,
  { email, role, project: named }: { email: string; role: PersonRole; project: string[] | undefined },
  at: Date,
): Promise<{ member: StoredMember }> {
  return store.transaction(async (tx) => {
    const projectIds = named ? await findProjectsOfToken(tx, workspaceId, { named, scopes: undefined }) : null
    const member = await tx.members.insertOrUpdate(workspaceId, { email, role, projectIds }, at)
    await auditOperator(tx, workspaceId, { action: 'member.add', targetId: member.id }, at)
    return { member }
  })
}

/** Returns the members and the people with sessions, sorted by address. */
export async function listMembers(store: Store, workspaceId: string, at: Date) {
  const [members, sessions] = await Promise.all([store.members.list(workspaceId), store.sessions.list(workspaceId, at)])
  const emails = [...new Set([...members, ...sessions].map(({ email }) => email))].sort()
  return emails.map((email) => ({
    email,
    roles: members.filter((one) => one.email === email).map(({ role, projectIds }) => ({ role, projectIds })),
    sessions: sessions
      .filter((one) => one.email === email)
      .map(({ id, createdAt, lastUsedAt, expiresAt }) => ({ id, createdAt, lastUsedAt, expiresAt })),
  }))
}

/**
 * Removes a member, or one role. Ends the sessions of a removed member.
 * @throws OperatorError if the member does not exist, or lacks the role
 */
export function removeMember(
  store: Store,
  workspaceId: string,
  { email, role }: { email: string; role: PersonRole | undefined },
  at: Date,
): Promise<{ email: string; roles: number; sessions: number }> {
  return store.transaction(async (tx) => {
    const ids = await tx.members.remove(workspaceId, email, role)
    if (ids.length === 0) {
      throw new OperatorError(
        `${email} ${role ? `does not have the role ${role}` : 'is not a member'}. To list all members, run ` +
          '"passes member list".',
      )
    }
    for (const targetId of ids) await auditOperator(tx, workspaceId, { action: 'member.remove', targetId }, at)
    const ended = role ? [] : await tx.sessions.endOfEmail(workspaceId, email)
    return { email, roles: ids.length, sessions: ended.length }
  })
}

/** @throws OperatorError if no person or member has the address, for example after a typing error */
export function revokeSessions(
  store: Store,
  workspaceId: string,
  email: string,
  at: Date,
): Promise<{ email: string; sessions: number }> {
  return store.transaction(async (tx) => {
    const ended = await tx.sessions.endOfEmail(workspaceId, email)
    if (ended.length === 0) {
      const [people, members] = await Promise.all([tx.people.listIdsByEmail(email), tx.members.listOfEmail(email)])
      if (people.length + members.length === 0) {
        throw new OperatorError(`No person has signed in as ${email}. To list all sessions, run "passes member list".`)
      }
    }
    for (const { id } of ended) await auditOperator(tx, workspaceId, { action: 'session.revoke', targetId: id }, at)
    return { email, sessions: ended.length }
  })
}
