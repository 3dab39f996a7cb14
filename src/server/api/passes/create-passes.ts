import type { z } from 'zod'
import { PassCreate } from '../../../core/contract/passes.ts'
import { ApiError, parseAs, validationError } from '../../../core/errors.ts'
import { runsOf } from '../../../core/group-by.ts'
import { newId, takeRandom } from '../../../core/ids.ts'
import { identifierDigest, newScanCode } from '../../../core/rules/crypto/scan-code.ts'
import { barcodeMessage } from '../../../core/rules/display/card.ts'
import { groupKeyOf, groupOf } from '../../../core/rules/pass/groups.ts'
import { type CheckPass, systemVariableError } from '../../../core/rules/pass/pass-rules.ts'
import { claimClass } from '../../../core/rules/template/class-key.ts'
import { imagesOfPass } from '../../../core/rules/template/image-choice.ts'
import { buildScope } from '../../../core/rules/template/resolve.ts'
import { mapInSlices } from '../../../core/slices.ts'
import { grouped } from '../../../storage/db/grouped.ts'
import { asStored, type StoredPass } from '../../../storage/passes/pass-row.ts'
import type { Repositories, Store } from '../../../storage/store.ts'
import type { PublishedVersion } from '../../../storage/templates/template-versions-repository.ts'
import { identityIdsOf } from '../../../storage/workspaces/identities-repository.ts'
import type { RequestContext } from '../../context.ts'
import { compileVersion } from '../../pass-content/compile-version.ts'
import { openImages, usesOf } from '../../pass-content/pass-images.ts'
import { type ClaimingPass, type Joined, joinClasses, type NamedPass } from '../../pass-content/shared-classes.ts'
import { VERSIONS_AT_ONCE } from '../../wallet-sync/definitions.ts'
import { auditEach } from '../audit.ts'
import { bytesOf, openRoom, type WorkspaceRoom } from '../limit-checks.ts'
import { noPublishedVersion } from '../templates/template-errors.ts'

export type CreateResult = { pass: StoredPass; isNew: boolean } | { externalPassId: string; problem: ApiError }

/**
 * Creates passes with their jobs. Each item succeeds or fails separately, and results are in the order of the items. If
 * a pass of the template already has the externalPassId, the result is that pass, regardless of the other fields. An
 * interrupted call leaves only complete passes, and the same request then creates the missing passes.
 */
export async function createPasses(items: unknown[], context: RequestContext): Promise<CreateResult[]> {
  const parsed = await mapInSlices(items, (item) => parseItem(PassCreate, item))
  const requests = parsed.filter((item): item is PassCreate => !('problem' in item))
  const runs = runsOf(requests, ({ templateId }) => templateId, VERSIONS_AT_ONCE)
  const [existing, versions] = await Promise.all([
    findExisting(requests, context),
    findVersions(runs[0] ?? [], context),
  ])
  const plans = await planPasses(runs, { existing, versionsOfFirst: versions }, context)
  const planned = [...plans.values()].filter((plan): plan is ClaimingPass => !(plan instanceof ApiError))
  const { inserted, rejected } = await insertPasses(planned, context)
  // Read the passes that a concurrent request inserted first, because `inserted` does not contain them.
  const notInserted = planned.filter(({ externalPassId }) => !inserted.has(externalPassId))
  const raced = await findExisting(notInserted, context)

  return parsed.map((item) => {
    if ('problem' in item) return item
    const { externalPassId } = item
    const plan = plans.get(item)
    if (plan instanceof ApiError) return { externalPassId, problem: plan }
    const pass = existing.get(externalPassId) ?? inserted.get(externalPassId) ?? raced.get(externalPassId)
    const rejection = rejected.get(externalPassId)
    // Report the rejection only if no concurrent request created the pass.
    if (!pass && rejection) return { externalPassId, problem: rejection }
    if (!pass) {
      if (!context.token.projectIds) throw new Error(`The pass ${externalPassId} was written, but cannot be read`)
      const message = 'The externalPassId is already used by a pass of another project.'
      return { externalPassId, problem: new ApiError('DUPLICATE_PASS', { message }) }
    }
    if (pass.templateId !== item.templateId) {
      return { externalPassId, problem: new ApiError('DUPLICATE_PASS', { details: { passId: pass.id } }) }
    }
    // An item without a plan repeats the externalPassId of an earlier item, and creates no pass.
    return { pass, isNew: plan !== undefined && inserted.get(externalPassId) === pass }
  })
}

export interface Inserted {
  inserted: Map<string, StoredPass>
  /**
   * The errors of passes, by externalPassId: the pass exceeds a limit of the workspace, names an unknown image, or
   * contradicts the values of its class. In an import, also if another pass has its serial number or object, or if a
   * device has too many passes.
   */
  rejected: Map<string, ApiError>
}

/** The author of new passes: a request with a token, or a join page, which has no token ID. */
export type CreateContext = Pick<RequestContext, 'workspaceId' | 'now'> & {
  correlationId: string | null
  token: Pick<RequestContext['token'], 'name'> & { id: string | null; workspace: WorkspaceRoom }
}

interface Planned {
  passes: ClaimingPass[]
  context: CreateContext
}

async function insertPasses(passes: ClaimingPass[], context: RequestContext): Promise<Inserted> {
  if (passes.length === 0) return { inserted: new Map(), rejected: new Map() }
  const full = await context.services.takeQueue(context, passes.length)
  if (full) return { inserted: new Map(), rejected: new Map(passes.map((pass) => [pass.externalPassId, full])) }
  if (passes.length === 1) return insertTogether(context.store, { passes, context })
  const all: Inserted = { inserted: new Map(), rejected: new Map() }
  // Use parts of equal size. Otherwise, a last part with one pass would get the priority of an interactive request.
  const size = Math.ceil(passes.length / Math.ceil(passes.length / context.store.passesPerTurn))
  for (let from = 0; from < passes.length; from += size) {
    const part = { passes: passes.slice(from, from + size), context }
    const [written] = await context.store.transaction((tx) => insertPlanned(tx, [part]))
    for (const [externalPassId, pass] of written!.inserted) all.inserted.set(externalPassId, pass)
    for (const [externalPassId, problem] of written!.rejected) all.rejected.set(externalPassId, problem)
  }
  return all
}

/** Creates the passes of concurrent requests with one pass each, in one transaction. */
const insertTogether = grouped((store: Store, take: () => Planned[]) =>
  store.transaction((tx) => insertPlanned(tx, take())),
)

/** Inserts the passes of several requests, and their jobs and audit entries. */
export async function insertPlanned(tx: Repositories, requests: Planned[]): Promise<Inserted[]> {
  const { workspaceId, now } = requests[0]!.context
  const planned = requests.flatMap(({ passes }) => passes)
  const joined = (await admitPasses(tx, planned, requests[0]!.context)).values()
  const sorted = requests.map(({ passes, context }) => {
    const rejected = new Map<string, ApiError>()
    const accepted = passes.flatMap(({ externalPassId }) => {
      const pass = joined.next().value!
      if (!(pass instanceof ApiError)) return [pass]
      rejected.set(externalPassId, pass)
      return []
    })
    return { context, rejected, accepted, isBulk: passes.length > 1 }
  })
  const rows = sorted.flatMap(({ accepted, context }) => accepted.map((pass) => ({ ...pass, createdAt: context.now })))
  const ids = await tx.passes.insert(workspaceId, rows, now)
  const uses = requests.flatMap(({ passes }) => passes.filter(({ id }) => ids.has(id)).flatMap(usesOf))
  if (uses.length > 0) await tx.images.insertUses(workspaceId, uses)
  const groupIds = [...new Set(rows.flatMap(({ group }) => group?.id ?? []))]
  const generations = await tx.groups.listGenerations(workspaceId, groupIds)
  const written = sorted.map(({ accepted, ...rest }) => {
    const fresh = accepted.filter(({ id }) => ids.has(id))
    const generationOf = ({ group }: NamedPass) => generations.get(group?.id ?? '')
    const stored = fresh.map(
      (pass) => [pass.externalPassId, asStored(workspaceId, pass, rest.context.now, generationOf(pass))] as const,
    )
    return { ...rest, inserted: new Map(stored) }
  })
  const jobs = written.flatMap(({ inserted, isBulk, context: { correlationId } }) =>
    [...inserted.values()].map(({ id: subject }) => ({
      workspaceId,
      kind: 'issue-pass' as const,
      subject,
      correlationId,
      isBulk,
    })),
  )
  if (jobs.length > 0) await tx.jobs.insert(jobs, now)
  // Write one audit entry per request. For a batch, the correlation ID links the entry to the passes.
  const entries = written.flatMap(({ inserted, context }) => {
    const [only, ...others] = inserted.values()
    if (only === undefined) return []
    return [{ context, targetId: others.length > 0 ? null : only.id, targetCount: inserted.size }]
  })
  await auditEach(tx, workspaceId, 'pass.create', entries)
  return written
}

/** Reserves images, capacity, and classes for passes. Returns an error for each pass that cannot be created. */
export async function admitPasses<Pass extends ClaimingPass>(
  tx: Repositories,
  passes: Pass[],
  context: Pick<CreateContext, 'workspaceId' | 'now' | 'token'>,
): Promise<(Joined<Pass> | ApiError)[]> {
  const { workspaceId, now } = context
  const images = passes.flatMap((pass) => pass.images)
  const requireKnown = await openImages(tx, workspaceId, images)
  const takeRoom = await openRoom(tx, context)
  const fitting = passes.map(
    (pass) => requireKnown(pass.images) ?? takeRoom({ passes: 1, storedBytes: bytesOf(pass.variables) }) ?? pass,
  )
  return joinClasses(tx, workspaceId, fitting, now)
}

export function parseItem<Item extends z.ZodType>(
  schema: Item,
  item: unknown,
): z.output<Item> | { externalPassId: string; problem: ApiError } {
  const parsed = parseAs(schema, item)
  if ('value' in parsed) return parsed.value
  const given = (item as { externalPassId?: unknown } | null)?.externalPassId
  return {
    externalPassId: typeof given === 'string' ? given : '',
    problem: validationError(parsed.issues),
  }
}

export async function findExisting(passes: { externalPassId: string }[], { store, workspaceId }: RequestContext) {
  const ids = [...new Set(passes.map((pass) => pass.externalPassId))]
  if (ids.length === 0) return new Map<string, StoredPass>()
  const [only, ...others] = ids
  const found =
    others.length > 0
      ? await store.passes.listByExternalIds(workspaceId, ids)
      : [await findTogether(store, { workspaceId, externalPassId: only! })]
  return new Map(found.flatMap((pass) => (pass ? [[pass.externalPassId, pass] as const] : [])))
}

async function findVersions(
  requests: PassCreate[],
  { store, workspaceId }: RequestContext,
): Promise<PublishedVersion[]> {
  const templateIds = [...new Set(requests.map((request) => request.templateId))]
  return templateIds.length > 0 ? store.templateVersions.listNewestPublished(workspaceId, templateIds) : []
}

const findTogether = grouped(async (store: Store, take: () => { workspaceId: string; externalPassId: string }[]) => {
  const requests = take()
  const ids = [...new Set(requests.map(({ externalPassId }) => externalPassId))]
  const found = await store.passes.listByExternalIds(requests[0]!.workspaceId, ids)
  const byExternalId = new Map(found.map((pass) => [pass.externalPassId, pass]))
  return requests.map(({ externalPassId }) => byExternalId.get(externalPassId))
})

/**
 * Maps requests to the pass to insert, or to an error. Omits a request if a pass with its externalPassId exists, or if
 * an earlier valid request has this externalPassId, because the request then returns that pass.
 */
async function planPasses(
  runs: PassCreate[][],
  { existing, versionsOfFirst }: { existing: Map<string, StoredPass>; versionsOfFirst: PublishedVersion[] },
  context: RequestContext,
): Promise<Map<PassCreate, ClaimingPass | ApiError>> {
  const plans = new Map<PassCreate, ClaimingPass | ApiError>()
  const taken = new Set<string>()
  for (const [n, run] of runs.entries()) {
    const requests = run.filter(({ externalPassId }) => !existing.has(externalPassId))
    if (requests.length === 0) continue
    const versions = n === 0 ? versionsOfFirst : await findVersions(requests, context)
    const rules = new Map(
      versions.map((version) => [
        version.templateId,
        { version, checkPass: compileVersion(version, context.services.wallets) },
      ]),
    )
    await mapInSlices(requests, (request) => {
      if (taken.has(request.externalPassId)) return
      const plan = planPass(request, rules.get(request.templateId), context)
      plans.set(request, plan)
      if (!(plan instanceof ApiError)) taken.add(request.externalPassId)
    })
  }
  return plans
}

export function planPass(
  request: PassCreate & { scanPayload?: string | null },
  rules: { version: PublishedVersion; checkPass: CheckPass } | undefined,
  { workspaceId, now }: Pick<RequestContext, 'workspaceId' | 'now'>,
): ClaimingPass | ApiError {
  if (!rules) return noPublishedVersion(request.templateId)
  const { version, checkPass } = rules
  const { definition } = version
  const rejection = systemVariableError(Object.keys(request.variables))
  if (rejection) return rejection
  const facts = { ...request, id: newId(now), scanCode: newScanCode(), ...pickNames(version) }
  const resolved = checkPass(facts)
  if ('issues' in resolved) return validationError(resolved.issues)
  const scope = buildScope(definition, facts, resolved.expiresAt)
  const { groupKey = groupKeyOf(definition, scope), ...given } = request
  return {
    ...given,
    ...resolved,
    ...pickNames(version),
    id: facts.id,
    scanCode: facts.scanCode,
    templateVersionId: version.id,
    templateVersion: version.version,
    projectId: version.projectId,
    appleToken: newAppleToken(),
    identifierDigest: identifierDigest(barcodeMessage(definition, scope)),
    images: imagesOfPass(definition, request.variables),
    claim: claimClass(definition, version.passType, scope, version.googleIdentityId),
    ...identityIdsOf(version),
    group: groupKey === null ? null : groupOf(workspaceId, version.projectId, groupKey),
  }
}

export function newAppleToken(): string {
  return takeRandom(24).toString('hex')
}

function pickNames({ templateName, projectName }: PublishedVersion) {
  return { templateName, projectName }
}
