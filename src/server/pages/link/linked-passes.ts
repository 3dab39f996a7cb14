import type { H3Event } from 'h3'
import { isUnissued } from '../../../core/rules/pass/pass-status.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { Services } from '../../context.ts'
import { correlationIdOf } from '../../http/middleware/observe.ts'

/** Issues queued passes of one workspace now, so that visitors do not wait. The queued job then has nothing to do. */
export async function issueQueued(
  passes: StoredPass[],
  { issuing, store }: Pick<Services, 'issuing' | 'store'>,
  event: H3Event,
  at: Date,
): Promise<StoredPass[]> {
  const first = passes.find(({ status }) => isUnissued(status))
  if (!first) return passes
  const { workspaceId } = first
  const ids = passes.map(({ id }) => id)
  const correlationId = correlationIdOf(event)
  const outcomes = await issuing.prepare(workspaceId, ids, at)
  await store
    .forVisits(workspaceId)
    .transaction((tx) => issuing.write(tx, workspaceId, outcomes, { at, correlationIdOf: () => correlationId }))
  const found = new Map((await store.passes.listByIds(workspaceId, ids)).map((pass) => [pass.id, pass]))
  return passes.map((pass) => found.get(pass.id) ?? pass)
}
