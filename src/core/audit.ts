/** The verbs of audited actions, by the kind of target. Never rename a verb: the audit log keeps actions for a year. */
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
  // Entries for `scan.record` are not stored. Reads of the audit log derive them from the ledger of scans.
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

/** An action in the audit log, as `kind.verb`, such as `pass.void`. */
export type AuditAction = {
  [Kind in keyof typeof verbs]: `${Kind}.${(typeof verbs)[Kind][number]}`
}[keyof typeof verbs]

export const auditActions = Object.entries(verbs).flatMap(([kind, some]) =>
  some.map((verb) => `${kind}.${verb}` as AuditAction),
)

export interface Actor {
  /** The ID of the token or person. `null` for an operator. */
  tokenId: string | null
  /** The name of a token, the email address of a person, or the account, machine, and command of an operator. */
  name: string
  /** The `sub` of a person at the OpenID provider. Omitted or `null` for a token or operator. */
  subject?: string | null
}

export function targetKind(action: AuditAction): string {
  return action.slice(0, action.indexOf('.'))
}

/** Returns the actions that a filter matches: `pass.void` matches one action, and `pass` all actions on passes. */
export function actionsNamed(name: string): AuditAction[] {
  return auditActions.filter((action) => action === name || targetKind(action) === name)
}
