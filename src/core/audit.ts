/**
 * What the audit log can say that somebody did. The part before the dot is the kind of row that it was done to. Names
 * stand in databases for a year: they may be added, and never change.
 */
export const auditActions = [
  'project.create',
  'project.update',
  'project.delete',
  'template.create',
  'template.update',
  'template.delete',
  'template-version.create',
  'template-version.update',
  'template-version.delete',
  'template-version.publish',
  'image.create',
  'pass.create',
  'pass.import',
  'pass.export',
  'pass.update',
  'pass.rotate-code',
  'pass.transfer',
  'pass.void',
  'pass.revoke-links',
  'pass.erase',
  'pass.nudge',
  'notification.create',
  'notification.cancel',
  'broadcast.create',
  'broadcast.cancel',
  'webhook.create',
  'webhook.update',
  'webhook.delete',
  'webhook.enable',
  'webhook.disable',
  'webhook.test',
  'webhook.rotate-secret',
  'delivery.redeliver',
  // Recorded scans stand in the ledger, which names the token; it is read as if it were part of this log.
  'scan.record',
  'scan.reverse',
  'token.create',
  'token.rotate',
  'token.revoke',
  'door-invitation.create',
  'door-invitation.end',
  'door.claim',
  'door.update',
  'door.revoke',
  'workspace.create',
  'workspace.update',
  'workspace.suspend',
  'workspace.resume',
  'workspace.offline-scanning',
  'workspace.limits',
  'workspace.move-out',
  'workspace.move-back',
  'identity.add',
  'identity.renew',
  'identity.use',
  'identity.retire',
  'job.retry',
  'job.delete',
  'database.restore',
  'database.copy',
] as const
/** What was done, as `resource.verb`. */
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
