/**
 * The actions in the audit log. The part before the dot is the kind of the target. Names are stored for a year: add new
 * ones, but never rename one.
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
  // Recorded scans are in the ledger, which names the token. Reads of the audit log include it.
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
export type AuditAction = (typeof auditActions)[number]

export interface Actor {
  /** `null` for an operator. */
  tokenId: string | null
  /** The name of the token. For an operator: the account, the machine, and the command. */
  name: string
}

export function targetKind(action: AuditAction): string {
  return action.slice(0, action.indexOf('.'))
}

/** Returns the actions that a filter matches: a single action, or all actions on a kind of target. */
export function actionsNamed(name: string): AuditAction[] {
  return auditActions.filter((action) => action === name || targetKind(action) === name)
}
