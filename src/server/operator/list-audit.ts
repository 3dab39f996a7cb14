import { actionsNamed, auditActions, targetKind } from '../../core/audit.ts'
import type { Page } from '../../core/contract/schemas/common.ts'
import { Uuid } from '../../core/ids.ts'
import { comparableEmail } from '../../core/rules/people/email.ts'
import type { AuditFilters, StoredAuditEntry } from '../../storage/operations/audit-log.ts'
import type { Repositories, Store } from '../../storage/store.ts'
import { toPage } from '../http/responses.ts'
import { getWorkspace, OperatorError } from './operator.ts'

export interface AuditSearch {
  workspace?: string | undefined
  /** The actors of the entries: IDs or names of tokens, email addresses of people, or `operator`. */
  actors?: string[] | undefined
  /** The actions of the entries, such as `pass.void`. A kind of target, such as `pass`, selects all of its actions. */
  actions?: string[] | undefined
  target?: string | undefined
  since?: Date | undefined
  until?: Date | undefined
}

export interface AuditEntry extends Omit<StoredAuditEntry, 'at' | 'actor' | 'actorSubject'> {
  at: string
  /** The actor: a person, or the name of a token or operator. */
  actor: string | PersonActor
}

interface PersonActor {
  kind: 'person'
  email: string
  /** The subject by which the sign-in provider identifies the person. */
  subject: string
}

const OPERATOR = 'operator'

export async function resolveSearch(store: Store, search: AuditSearch): Promise<AuditFilters> {
  const { workspace, actors, actions, target, since, until } = search
  return {
    ...(workspace !== undefined && { workspaceId: (await getWorkspace(store, workspace)).id }),
    ...(actors && { tokenIds: (await Promise.all(actors.map((actor) => idsOfActor(store, actor)))).flat() }),
    ...(actions && { actions: [...new Set(actions.flatMap(getActions))] }),
    ...(target !== undefined && { targetId: getUuid(target) }),
    since,
    until,
  }
}

/**
 * Returns one page of the log, newest first. If the only filter is a target, and this target is a scan, the last page
 * ends with the recording of the scan.
 */
export async function listAudit(
  store: Pick<Repositories, 'auditLog'>,
  filters: AuditFilters,
  page: { limit: number; cursor?: string | undefined },
): Promise<Page<AuditEntry>> {
  const { rows, ...rest } = await store.auditLog.list({ ...filters, ...page })
  const { targetId, ...others } = filters
  const hasOnlyTarget = Object.values(others).every((filter) => filter === undefined)
  if (targetId === undefined || !hasOnlyTarget || rest.hasMore) return toPage({ rows, ...rest }, showEntry)
  const scan = await store.auditLog.findScan(targetId)
  const all = scan ? [...rows, scan] : rows
  return toPage({ ...rest, rows: all, total: rest.total + (scan ? 1 : 0) }, showEntry)
}

function showEntry({ at, actorSubject, ...entry }: StoredAuditEntry): AuditEntry {
  const shown = { ...entry, at: at.toISOString() }
  if (actorSubject === null) return shown
  return { ...shown, tokenId: null, actor: { kind: 'person', email: entry.actor, subject: actorSubject } }
}

async function idsOfActor({ tokens, people }: Store, actor: string): Promise<(string | null)[]> {
  if (actor === OPERATOR) return [null]
  const uuid = Uuid.safeParse(actor)
  if (uuid.success) return [uuid.data]
  const email = comparableEmail(actor)
  const ids = [...(await tokens.listIdsByName(actor)), ...(email ? await people.listIdsByEmail(email) : [])]
  if (ids.length > 0) return ids
  throw new OperatorError(
    email
      ? `${actor} never signed in. To list all members, run "passes member list".`
      : `Token ${actor} not found. To list all tokens, run "passes token list". For actions of operators, use "operator".`,
  )
}

function getActions(name: string) {
  const actions = actionsNamed(name)
  if (actions.length > 0) return actions
  const kinds = [...new Set(auditActions.map(targetKind))].join(', ')
  throw new OperatorError(
    `Unknown action ${name}. Use an action such as pass.void, or the kind of its targets, which selects all their actions: ${kinds}.`,
  )
}

function getUuid(id: string): string {
  const uuid = Uuid.safeParse(id)
  if (uuid.success) return uuid.data
  throw new OperatorError(`${id} is not a UUID. The log identifies rows by ID.`)
}
