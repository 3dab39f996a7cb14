/**
 * The verbs of actions in the audit log, by the kind of target. The log keeps actions for a year, so never rename a
 * verb.
 */
const verbs = {
  project: ['create', 'update', 'delete'],
  template: ['create', 'update', 'delete'],
  upgrade: ['create', 'cancel'],
  'join-page': ['set', 'delete'],
  'template-version': ['create', 'update', 'delete', 'publish'],
  image: ['create'],
  pass: ['create', 'import', 'export', 'update', 'rotate-code', 'transfer', 'void', 'revoke-links', 'erase', 'nudge'],
  balance: ['add', 'reverse'],
  notification: ['create', 'cancel'],
  broadcast: ['create', 'cancel'],
  webhook: ['create', 'update', 'delete', 'enable', 'disable', 'test', 'rotate-secret'],
  delivery: ['redeliver'],
  // The audit log does not store `scan.record`. Reads derive these entries from the scan ledger, which has each token.
  scan: ['record', 'reverse'],
  token: ['create', 'rotate', 'revoke'],
  member: ['add', 'remove'],
  session: ['create', 'end', 'revoke'],
  'door-invitation': ['create', 'end'],
  door: ['claim', 'update', 'revoke'],
  zone: ['create', 'update', 'delete', 'reset', 'adjust'],
  workspace: ['create', 'update', 'suspend', 'resume', 'offline-scanning', 'limits', 'move-out', 'move-back'],
  identity: ['add', 'renew', 'use', 'retire'],
  job: ['retry', 'delete'],
  database: ['restore', 'copy'],
} as const

/** The action, as `kind.verb`. */
export type AuditAction = {
  [Kind in keyof typeof verbs]: `${Kind}.${(typeof verbs)[Kind][number]}`
}[keyof typeof verbs]

export const auditActions = Object.entries(verbs).flatMap(([kind, some]) =>
  some.map((verb) => `${kind}.${verb}` as AuditAction),
)

export interface Actor {
  /** The ID of the token or person. `null` for an operator. */
  tokenId: string | null
  /** The name of the token, the email address of the person, or the account, machine, and command of an operator. */
  name: string
  /** The person's subject (`sub`) at the OpenID provider. Omitted or `null` for a token or operator. */
  subject?: string | null
}

export function targetKind(action: AuditAction): string {
  return action.slice(0, action.indexOf('.'))
}

/** Returns the actions that a filter matches: for `pass.void`, this action; for `pass`, all actions on passes. */
export function actionsNamed(name: string): AuditAction[] {
  return auditActions.filter((action) => action === name || targetKind(action) === name)
}
