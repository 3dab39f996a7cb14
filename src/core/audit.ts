/**
 * What the audit log can say that somebody did. The part before the dot is the kind of row that it was done to. Names
 * stand in databases for a year: they may be added, and never change.
 */
export const auditActions = [
  ...(['project.create', 'project.update', 'project.delete'] as const),
  ...(['template.create', 'template.update', 'template.delete'] as const),
  ...(['template-version.create', 'template-version.update', 'template-version.delete'] as const),
  ...(['template-version.publish', 'image.create'] as const),
  ...(['pass.create', 'pass.update', 'pass.void', 'pass.revoke-links', 'pass.erase'] as const),
  ...(['notification.create', 'notification.cancel', 'broadcast.create', 'broadcast.cancel'] as const),
  ...(['webhook.create', 'webhook.update', 'webhook.delete', 'webhook.enable', 'webhook.disable'] as const),
  ...(['webhook.test', 'webhook.rotate-secret', 'delivery.redeliver'] as const),
  // Recorded scans stand in the ledger, which names the token; it is read as if it were part of this log.
  ...(['scan.record', 'scan.reverse'] as const),
  ...(['token.create', 'token.rotate', 'token.revoke'] as const),
  ...(['workspace.create', 'workspace.update', 'workspace.suspend', 'workspace.resume'] as const),
  ...(['workspace.offline-scanning', 'workspace.limits'] as const),
  ...(['job.retry', 'job.delete', 'database.restore'] as const),
] as const
export type AuditAction = (typeof auditActions)[number]

/** Who did it: a token, or an operator at the command line. */
export interface Actor {
  /** Null for an operator. */
  tokenId: string | null
  /** The name of the token; of an operator the account, the machine and the command. */
  name: string
}

/** The kind of row that an action is done to. */
export function targetKind(action: AuditAction): string {
  return action.slice(0, action.indexOf('.'))
}

/** The actions that a filter names: one of them, or a kind for all that is done to it; empty where there is none such. */
export function actionsNamed(name: string): AuditAction[] {
  return auditActions.filter((action) => action === name || targetKind(action) === name)
}
