import { z } from 'zod'
import { pageOf, route, UtcTimestamp } from '../../core/contract/schemas/common.ts'
import { pageQuery } from '../../core/contract/schemas/list-parameters.ts'
import { ApiError } from '../../core/errors.ts'
import type { StoredAuditEntry } from '../../storage/operations/audit-log.ts'
import type { Handler, PageRoute } from '../http/mount.ts'
import { toPage } from '../http/responses.ts'
import { deskPath } from '../pages/scripted-pages.ts'

const HistoryEntry = z.strictObject({ id: z.string(), at: UtcTimestamp, actor: z.string(), action: z.string() })

/** The changes of a pass with their actors, newest first. */
const historyRoute = route('GET', `${deskPath}/passes/{id}/history`, {
  scope: 'passes:read',
  summary: 'List the changes of a pass',
  query: pageQuery({}),
  responses: { 200: pageOf(HistoryEntry) },
})

/** Lists the changes of a pass. Rejects API tokens, because only people with a role can see the names of people. */
const listHistory: Handler<typeof historyRoute> = async ({ params: { id }, query }, { store, workspaceId, token }) => {
  if (!token.person) throw new ApiError('FORBIDDEN', { message: 'Sign in to see who changed the pass.' })
  // Find the pass first: passes are limited to the projects of the role, but log entries are not.
  const pass = await store.passes.find(workspaceId, id)
  if (!pass) throw new ApiError('PASS_NOT_FOUND', { details: { passId: id } })
  const { rows, total, ...rest } = await store.auditLog.list({ ...query, workspaceId, passId: id })
  const isCreated = /^pass\.(create|import)$/.test(rows.at(-1)?.action ?? '')
  // A request that created several passes has one log entry, which names no pass. Find this entry by the creation time
  // of the pass.
  const batch = rest.hasMore || isCreated ? undefined : await store.auditLog.findBatch(workspaceId, pass.createdAt)
  const all = batch ? [...rows, batch] : rows
  return toPage({ ...rest, rows: all, total: total + all.length - rows.length }, toHistoryEntry)
}

export const passHistory = { route: historyRoute, handler: listHistory } as unknown as PageRoute

function toHistoryEntry({ id, at, action, actor, tokenId }: StoredAuditEntry) {
  // Remove the account and the machine at the beginning of an operator's name, because members must not see them.
  return { id, at: at.toISOString(), action, actor: tokenId === null ? actor.split(': ').at(-1)! : actor }
}
