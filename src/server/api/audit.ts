import { hostname, userInfo } from 'node:os'
import type { Actor, AuditAction } from '../../core/audit.ts'
import type { Repositories } from '../../storage/store.ts'
import type { RequestContext } from '../context.ts'

/**
 * Notes who did what to which row, in the transaction that does it. It holds no value that was written: labels,
 * variables, texts and secrets never.
 * @param targetId the row; null where there are several, which targetCount then counts
 */
export function audit(
  tx: Repositories,
  context: Author,
  action: AuditAction,
  targetId: string | null,
  targetCount = 1,
): Promise<void> {
  return auditEach(tx, context.workspaceId, action, [{ context, targetId, targetCount }])
}

interface Author extends Pick<RequestContext, 'workspaceId' | 'correlationId' | 'now'> {
  token: Pick<RequestContext['token'], 'id' | 'name'>
}

/** The same of several requests of a workspace. */
export function auditEach(
  tx: Repositories,
  workspaceId: string,
  action: AuditAction,
  done: { context: Author; targetId: string | null; targetCount?: number }[],
): Promise<void> {
  const entries = done.map(({ context: { token, correlationId, now }, ...target }) => ({
    action,
    actor: { tokenId: token.id, name: token.name },
    correlationId,
    at: now,
    ...target,
  }))
  return tx.auditLog.insertAll(workspaceId, entries)
}

/**
 * An operator: the account, the machine and the command, without its arguments, since they may hold passwords and
 * names of people.
 * @param command as its parts are typed, such as `token create`
 */
export function operator(command: string): Actor {
  return { tokenId: null, name: `${account()}@${hostname()}: passes ${command}` }
}

function account(): string {
  try {
    return userInfo().username
  } catch {
    // In a container the account may have no name.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
