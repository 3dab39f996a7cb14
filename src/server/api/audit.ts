import { hostname, userInfo } from 'node:os'
import type { Actor, AuditAction } from '../../core/audit.ts'
import type { Repositories } from '../../storage/store.ts'
import type { RequestContext } from '../context.ts'

/**
 * Records an action in the audit log, in the transaction of the action. Do not log the values that the action writes,
 * such as labels, variables, texts, or secrets.
 * @param targetId the ID of the changed row; null if several rows changed (`targetCount`)
 * @param details set `passId` if the action changes another row, but concerns a pass
 */
export function audit(
  tx: Repositories,
  context: Author,
  action: AuditAction,
  targetId: string | null,
  details: { targetCount?: number; passId?: string } = {},
): Promise<void> {
  return auditEach(tx, context.workspaceId, action, [{ context, targetId, ...details }])
}

interface Author extends Pick<RequestContext, 'workspaceId' | 'now'> {
  correlationId: string | null
  /** `id` is null if the author has no token. */
  token: Pick<RequestContext['token'], 'name'> &
    Partial<Pick<RequestContext['token'], 'person'>> & { id: string | null }
}

export function auditEach(
  tx: Repositories,
  workspaceId: string,
  action: AuditAction,
  done: { context: Author; targetId: string | null; targetCount?: number; passId?: string }[],
): Promise<void> {
  const entries = done.map(({ context: { token, correlationId, now }, ...target }) => ({
    action,
    actor: { tokenId: token.id, name: token.name, subject: token.person?.subject ?? null },
    correlationId,
    at: now,
    ...target,
  }))
  return tx.auditLog.insertAll(workspaceId, entries)
}

/**
 * Returns an operator for the audit log: the account, the machine, and the command. Omits the arguments of the command,
 * because they can contain passwords and personal data.
 * @param command the command as typed, such as `token create`
 */
export function operator(command: string): Actor {
  return { tokenId: null, name: `${account()}@${hostname()}: passes ${command}` }
}

function account(): string {
  try {
    return userInfo().username
  } catch {
    // In a container, the account can have no name: use its ID.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
