import type { ApiError } from '../../core/errors.ts'
import type { StoredJoinPage } from '../../storage/join/join-pages-repository.ts'
import { hourOf } from '../../storage/operations/figures-repository.ts'
import type { PassJoin, StoredPass } from '../../storage/passes/pass-row.ts'
import type { Repositories, Store } from '../../storage/store.ts'
import type { PublishedVersion } from '../../storage/templates/template-versions-repository.ts'
import { type CreateContext, insertPlanned, planPass } from '../api/passes/create-passes.ts'
import type { Services } from '../context.ts'
import { compileVersion } from '../pass-content/compile-version.ts'

export interface WantedPass {
  externalPassId: string
  label: string
  variables: Record<string, unknown>
}

/** A pass from a join page that was checked, but is not stored yet. */
export type JoinPlan = Exclude<ReturnType<typeof planPass>, ApiError>

/** Returns the context in which a join page creates passes: the page as author, and the limits of its workspace. */
export async function joinContext(
  { workspaceId, slug }: Pick<StoredJoinPage, 'workspaceId' | 'slug'>,
  store: Store,
  { correlationId, now }: Pick<CreateContext, 'correlationId' | 'now'>,
): Promise<CreateContext> {
  const [limits, usage] = await Promise.all([store.limits.find(workspaceId), store.usage.findStored(workspaceId)])
  const token = { id: null, name: `join page ${slug}`, workspace: { limits, usage } }
  return { workspaceId, correlationId, now, token }
}

/** Checks a pass against the published version, as the API does. */
export function planJoin(
  wanted: WantedPass,
  version: PublishedVersion,
  { wallets }: Pick<Services, 'wallets'>,
  context: Pick<CreateContext, 'workspaceId' | 'now'>,
): JoinPlan | ApiError {
  const request = { ...wanted, templateId: version.templateId }
  return planPass(request, { version, checkPass: compileVersion(version, wallets) }, context)
}

/**
 * Creates a planned pass. Returns `undefined` if a pass with its externalPassId exists, because the form was already
 * sent.
 * @throws ApiError if the pass is rejected, for example because the workspace has reached its limit of passes
 */
export async function insertJoined(
  tx: Repositories,
  plan: JoinPlan,
  join: PassJoin,
  context: CreateContext,
  { linkOpens }: Pick<Services, 'linkOpens'>,
): Promise<StoredPass | undefined> {
  const [written] = await insertPlanned(tx, [{ passes: [{ ...plan, join }], context }])
  const rejection = written!.rejected.get(plan.externalPassId)
  if (rejection) throw rejection
  const pass = written!.inserted.get(plan.externalPassId)
  if (pass && plan.projectId !== null) {
    const figure = `joined/submitted/${linkOpens.countedSource(plan.projectId, join.source, context.now)}`
    await tx.figures.insert(context.workspaceId, [
      { projectId: plan.projectId, hour: hourOf(context.now), figure, n: 1 },
    ])
  }
  return pass
}
