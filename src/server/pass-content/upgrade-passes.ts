import { ApiError, type Issue } from '../../core/errors.ts'
import { runsOf } from '../../core/group-by.ts'
import { changedFields } from '../../core/rules/pass/pass-rules.ts'
import { imagesOfPass } from '../../core/rules/template/image-choice.ts'
import { mapInSlices } from '../../core/slices.ts'
import type { Job } from '../../storage/jobs/jobs-repository.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Repositories } from '../../storage/store.ts'
import type { PassUpgrade, StoredUpgrade, UpgradeFailure } from '../../storage/templates/upgrades-repository.ts'
import type { LongJobServices, Services } from '../context.ts'
import { workInChunks } from '../jobs/chunks.ts'
import { VERSIONS_AT_ONCE, type VersionContent } from '../wallet-sync/definitions.ts'
import { queueWalletUpdates } from '../wallet-sync/holders.ts'
import { openImages, type PassImage, usesOf } from './pass-images.ts'
import { passUpdated } from './pass-updated.ts'
import { planChange } from './plan-change.ts'
import { deleteLeftClasses, followClasses } from './shared-classes.ts'

type UpgradeServices = LongJobServices & Pick<Services, 'definitions' | 'wallets' | 'log'>

/** A pass that was read before the transaction, with its change or the reason why it cannot change. */
type Plan = { pass: StoredPass } & (
  | { isUnchanged: true }
  | { failure: UpgradeFailure }
  | { change: Omit<PassUpgrade, 'id'>; images: PassImage[] }
)

type PlannedChange = Extract<Plan, { change: unknown }>

interface Prepared {
  version: VersionContent
  /** The number of passes to upgrade. Set only by the first chunk, which counts the passes. */
  matched?: number
  plans: Plan[]
  /** The position of the upgrade after these passes. If null, the position is the ID of the last pass in `plans`. */
  upTo: string | null
  isLast: boolean
}

const PASSES = { first: 50, most: 2_000 }

/** The maximum length of the message of a failure, in characters. */
const MAX_MESSAGE = 500

/** Moves the passes of an upgrade to its version, in order of creation. */
export async function upgradePasses(jobs: Job[], services: UpgradeServices): Promise<void> {
  for (const job of jobs) {
    const prepare = (rows: number) => prepareChunk(job, rows, services)
    await workInChunks(job, services, { ...PASSES, prepare }, (tx, _, prepared) =>
      writeChunk(tx, job, prepared, services.clock()),
    )
  }
}

/** Reads the next passes and plans their changes. Returns `undefined` if the upgrade has ended. */
async function prepareChunk(
  { workspaceId, subject }: Job,
  rows: number,
  services: UpgradeServices,
): Promise<Prepared | undefined> {
  const { store, definitions } = services
  const upgrade = await store.upgrades.findById(workspaceId, subject)
  if (upgrade?.status !== 'PENDING') return undefined
  const version = (await definitions.findVersion(workspaceId, upgrade.templateVersionId))!
  if (upgrade.matched === null) {
    const matched = await store.upgrades.count(workspaceId, upgrade, services.clock())
    return { version, matched, plans: [], upTo: null, isLast: false }
  }
  const processed = upgrade.upgraded + upgrade.unchanged + upgrade.failed
  // If `listNext` finds `limit` passes, the upgrade ends, because `passLimit` is reached. `rows + 1` is never reached,
  // because a range has at most `rows` passes.
  const limit = Math.min(rows + 1, (upgrade.passLimit ?? Infinity) - processed)
  const { passes, ...next } = await store.upgrades.listNext(workspaceId, upgrade, { rows, limit, at: services.clock() })
  const plans: Plan[] = []
  for (const run of runsOf(passes, ({ templateVersionId }) => templateVersionId, VERSIONS_AT_ONCE)) {
    const ids = [...new Set(run.map(({ templateVersionId }) => templateVersionId))]
    const versions = await definitions.findVersions(workspaceId, ids)
    plans.push(...(await mapInSlices(run, (pass) => planUpgrade(pass, version, versions, services))))
  }
  return { version, plans, ...next }
}

function planUpgrade(
  pass: StoredPass,
  version: VersionContent,
  versions: Map<string, VersionContent>,
  { wallets, clock, log }: UpgradeServices,
): Plan {
  if (pass.templateVersion >= version.version) return { pass, isUnchanged: true }
  const before = versions.get(pass.templateVersionId) ?? version
  try {
    const change = planChange(pass, {}, { version, before, wallets, now: clock() })
    return { pass, change, images: imagesOfPass(version.definition, change.variables) }
  } catch (error) {
    if (!(error instanceof ApiError)) log.error({ err: error, passId: pass.id }, 'could not plan the upgrade of a pass')
    return { pass, failure: toFailure(pass, error instanceof ApiError ? error : new ApiError('INTERNAL_ERROR')) }
  }
}

function toFailure({ id }: StoredPass, { code, message, details }: ApiError): UpgradeFailure {
  const issues = (details.issues ?? []) as Issue[]
  const listed = issues.map((issue) => [issue.path.join('.'), issue.message].filter(Boolean).join(': ')).join('; ')
  const whole = listed || message
  return { passId: id, code, message: whole.length > MAX_MESSAGE ? `${whole.slice(0, MAX_MESSAGE - 1)}…` : whole }
}

/** Writes the planned changes with the progress, in one transaction. Returns true after the last chunk. */
async function writeChunk(tx: Repositories, job: Job, prepared: Prepared | undefined, at: Date): Promise<boolean> {
  const { workspaceId, subject } = job
  const upgrade = await tx.upgrades.findForUpdate(workspaceId, subject)
  if (upgrade?.status !== 'PENDING') {
    await tx.jobs.complete([job])
    return true
  }
  if (!prepared) return false
  if (prepared.matched !== undefined) {
    await tx.upgrades.setMatched(workspaceId, subject, prepared.matched, at)
    return false
  }
  const plans = await lockUnchanged(tx, workspaceId, prepared.plans)
  const { changes, failures, unchanged } = await sortPlans(tx, workspaceId, plans)
  if (!upgrade.dryRun && changes.length > 0) {
    await writeChanges(tx, job, { changes, upgrade, version: prepared.version, at })
  }
  const isWhole = plans.length === prepared.plans.length
  const isLast = prepared.isLast && isWhole
  const position = (isWhole ? prepared.upTo : null) ?? plans.at(-1)?.pass.id ?? null
  const progress = { position, upgraded: changes.length, unchanged, failures, isLast }
  await tx.upgrades.advance(workspaceId, upgrade, progress, at)
  if (isLast) await tx.jobs.complete([job])
  return isLast
}

/**
 * Locks passes, and returns the plans before the first pass that changed since it was read. The next chunk begins with
 * that pass.
 */
async function lockUnchanged(tx: Repositories, workspaceId: string, plans: Plan[]): Promise<Plan[]> {
  if (plans.length === 0) return []
  const ids = plans.map(({ pass }) => pass.id)
  const versions = await tx.upgrades.lockPasses(workspaceId, ids)
  const changed = plans.findIndex(({ pass }) => versions.get(pass.id) !== pass.version)
  return changed < 0 ? plans : plans.slice(0, changed)
}

/** Separates changes and failures, and locks the images of changes. A change with a missing image becomes a failure. */
async function sortPlans(tx: Repositories, workspaceId: string, plans: Plan[]) {
  const planned = plans.filter((plan): plan is PlannedChange => 'change' in plan)
  const images = planned.flatMap((plan) => plan.images)
  const requireKnown = await openImages(tx, workspaceId, images)
  const changes: PlannedChange[] = []
  const failures: UpgradeFailure[] = []
  for (const plan of plans) {
    if ('failure' in plan) failures.push(plan.failure)
    if (!('change' in plan)) continue
    const unknown = requireKnown(plan.images)
    if (unknown) failures.push(toFailure(plan.pass, unknown))
    else changes.push(plan)
  }
  return { changes, failures, unchanged: plans.filter((plan) => 'isUnchanged' in plan).length }
}

interface ChangesOfChunk {
  changes: PlannedChange[]
  upgrade: StoredUpgrade
  version: VersionContent
  at: Date
}

/** Changes the passes as `updatePass` does. The caller has locked them. */
async function writeChanges(
  tx: Repositories,
  { workspaceId, correlationId }: Job,
  { changes, upgrade, version, at }: ChangesOfChunk,
): Promise<void> {
  await tx.events.expect(workspaceId)
  const classes = await followClasses(
    tx,
    workspaceId,
    changes.map(({ pass, change }) => ({ pass, version, facts: pass, expiresAt: change.expiresAt })),
    { now: at, correlationId },
  )
  const passes = changes.map(({ pass }) => pass)
  const upgrades = changes.map(({ pass: { id }, change }, n) => ({ ...change, id, ...classes[n] }))
  await tx.upgrades.writePasses(workspaceId, upgrades, at)
  const ids = passes.map(({ id }) => id)
  await queueWalletUpdates(tx, workspaceId, ids, { at, correlationId, isBulk: true })
  const uses = changes.flatMap(({ pass: { id }, images }) => usesOf({ id, images }))
  if (uses.length > 0) await tx.images.insertUses(workspaceId, uses)
  await deleteLeftClasses(tx, workspaceId, passes, classes)
  const retried = passes.filter(({ status }) => status === 'FAILED')
  const issue = { workspaceId, kind: 'issue-pass' as const, correlationId, isBulk: true }
  const jobs = retried.map(({ id: subject }) => ({ ...issue, subject }))
  await tx.jobs.insert(jobs, at)
  const events = changes.map(({ pass, change }) => {
    const fields = changedFields({ label: false, variables: false, version: true })
    if (change.group?.id !== pass.group?.id) fields.push('groupKey')
    return passUpdated({ ...pass, templateVersionId: version.id }, fields, correlationId)
  })
  await tx.events.insert(workspaceId, events, at)
  const actor = { tokenId: upgrade.tokenId, name: upgrade.tokenName, subject: upgrade.tokenSubject }
  const entry = { action: 'pass.update' as const, actor, correlationId, at }
  const entries = ids.map((targetId) => ({ ...entry, targetId }))
  await tx.auditLog.insertAll(workspaceId, entries)
}
