import { ApiError, validationError } from '../../core/errors.ts'
import { type ClassClaim, claimClass, differingNames } from '../../core/rules/template/class-key.ts'
import type { Scope } from '../../core/rules/template/placeholder.ts'
import { pathOfValue } from '../../core/rules/template/rendered-size.ts'
import { buildScope, type PassFacts } from '../../core/rules/template/resolve.ts'
import { keyOf, type NewClass, type StoredClass } from '../../storage/passes/google-classes.ts'
import type { NewPass, StoredPass } from '../../storage/passes/pass-row.ts'
import type { Repositories } from '../../storage/store.ts'
import type { VersionContent } from '../wallet-sync/definitions.ts'
import type { PassImage } from './pass-images.ts'

export type NamedPass = NewPass & Pick<StoredPass, 'templateName' | 'projectName'>

export type ClaimingPass = Omit<NamedPass, 'googleClassId'> & {
  claim: ClassClaim | undefined
  images: PassImage[]
}

export type Joined<Pass extends ClaimingPass> = Omit<Pass, 'claim'> & Pick<NamedPass, 'googleClassId'>

/**
 * Assigns passes to classes by their class keys. The first pass with a key sets the values of the class. Rejects a pass
 * with other values than its class. The error contains both values. Errors in `passes` are returned unchanged.
 */
export async function joinClasses<Pass extends ClaimingPass>(
  tx: Repositories,
  workspaceId: string,
  passes: (Pass | ApiError)[],
  at: Date,
): Promise<(Joined<Pass> | ApiError)[]> {
  const wanted = passes.map((pass) =>
    pass instanceof ApiError || !pass.claim ? undefined : { ...pass.claim, templateVersionId: pass.templateVersionId },
  )
  const byKey = await claimAll(tx, workspaceId, wanted, at)
  return passes.map((asking, n) => {
    if (asking instanceof ApiError) return asking
    const { claim, ...pass } = asking
    if (!claim) return { ...pass, googleClassId: null }
    const ofClass = byKey.get(keyOf(wanted[n]!))!
    const names = differingNames(ofClass.values, claim.values)
    return names.length > 0 ? differs(names, ofClass.values, claim.values) : { ...pass, googleClassId: ofClass.id }
  })
}

/**
 * Finds or creates the classes, and locks them in one statement. Returns the classes by key. If several of them have
 * the same key, the values of the first one count.
 */
async function claimAll(
  tx: Repositories,
  workspaceId: string,
  classes: (NewClass | undefined)[],
  at: Date,
): Promise<Map<string, StoredClass>> {
  const distinct = new Map<string, NewClass>()
  for (const one of classes) if (one && !distinct.has(keyOf(one))) distinct.set(keyOf(one), one)
  const claimed = distinct.size > 0 ? await tx.googleClasses.claim(workspaceId, [...distinct.values()], at) : []
  return new Map(claimed.map((one) => [keyOf(one), one]))
}

function differs(names: string[], known: ClassClaim['values'], given: ClassClaim['values']): ApiError {
  return validationError(
    names.map((name) => ({
      path: pathOfValue(name),
      message:
        `Passes with the same google.classKey share a class at Google. This class has ${excerpt(known[name] ?? '')} ` +
        `for {{${name}}}, not ${excerpt(given[name] ?? '')}: give the same value, or update a pass of the class`,
    })),
  )
}

function excerpt(value: string): string {
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
}

/** The class of an updated pass; null if its version has no shared classes. */
export type OfClass = Pick<StoredPass, 'googleClassId'>

/** A pass before an update, and its version, facts, and expiry after the update. */
export interface ClassChange {
  pass: StoredPass
  version: VersionContent
  facts: PassFacts
  expiresAt: Date | null
}

/**
 * Assigns distinct updated passes of a workspace to their classes, and returns the classes. If the update changes a
 * value that the passes of a class share, the value changes for all of them. The other values of the class stay, even
 * if the pass has different ones. If a pass moves to a new version with the same class key, a new class of this version
 * starts with the values of the previous class.
 */
export async function followClasses(
  tx: Repositories,
  workspaceId: string,
  changes: ClassChange[],
  { now, correlationId }: { now: Date; correlationId: string | null },
): Promise<OfClass[]> {
  const claims = changes.map(claimsOf)
  if (claims.every((claim) => claim === undefined)) return changes.map(() => ({ googleClassId: null }))
  const currentIds = new Set(changes.flatMap(({ pass }) => pass.googleClassId ?? []))
  const current = currentIds.size > 0 ? await tx.googleClasses.list(workspaceId, [...currentIds]) : []
  const byId = new Map(current.map((one) => [one.id, one]))
  const wanted = changes.map(({ pass, version }, n) => {
    const claim = claims[n]?.after
    const own = pass.googleClassId ? byId.get(pass.googleClassId) : undefined
    const kept = own && own.keyDigest === claim?.keyDigest ? pick(own.values, Object.keys(claim.values)) : {}
    return claim && { ...claim, templateVersionId: version.id, values: { ...claim.values, ...kept }, own }
  })
  // Lock previous and new classes in one statement. Otherwise, updates could deadlock if two passes swap classes.
  const locked = wanted.flatMap((one) => [one, one?.own])
  const byKey = await claimAll(tx, workspaceId, locked, now)
  const changed = new Set<StoredClass>()
  const classes = wanted.map((one, n) => {
    if (!one) return { googleClassId: null }
    const ofClass = byKey.get(keyOf(one))!
    const { before, after } = claims[n]!
    const next = { ...ofClass.values, ...pick(after.values, differingNames(before.values, after.values)) }
    if (differingNames(ofClass.values, next).length > 0) {
      ofClass.values = next
      changed.add(ofClass)
    }
    return { googleClassId: ofClass.id }
  })
  for (const { id, values } of changed) await tx.googleClasses.setValues(workspaceId, id, values)
  // Update only classes that Google already has. Any other class is sent, in its current form, with its first object.
  const sent = [...changed].filter(({ sentVersion }) => sentVersion !== null)
  const job = { workspaceId, kind: 'upsert-google-class' as const, correlationId }
  const jobs = sent.map(({ id: subject }) => ({ ...job, subject }))
  await tx.jobs.insertOnce(jobs, now)
  return classes
}

/** Deletes the classes that no longer have a pass. `followClasses` has locked these classes. */
export async function deleteLeftClasses(
  tx: Repositories,
  workspaceId: string,
  before: OfClass[],
  after: OfClass[],
): Promise<void> {
  const left = before.flatMap(({ googleClassId }, n) =>
    googleClassId && googleClassId !== after[n]!.googleClassId ? [googleClassId] : [],
  )
  if (left.length > 0) await tx.googleClasses.deleteUnused(workspaceId, [...new Set(left)])
}

/** Returns the class keys and values before and after the update; undefined if the version has no class key. */
function claimsOf({
  pass,
  version,
  facts,
  expiresAt,
}: ClassChange): Record<'before' | 'after', ClassClaim> | undefined {
  const { definition, passType } = version
  const claimOf = (scope: Scope) => claimClass(definition, passType, scope, pass.googleIdentityId)
  const after = claimOf(buildScope(definition, facts, expiresAt))
  return after && { after, before: claimOf(buildScope(definition, pass, pass.expiresAt))! }
}

/** Clears the values of a class if all of its passes are erased. The values can be personal data. */
export async function forgetClass(
  tx: Repositories,
  { workspaceId, googleClassId }: StoredPass,
  { now, correlationId }: { now: Date; correlationId: string },
): Promise<void> {
  const ofClass = googleClassId && (await tx.googleClasses.findForUpdate(workspaceId, googleClassId))
  if (!ofClass || (await tx.googleClasses.listInUse([ofClass])).size > 0) return
  await tx.googleClasses.setValues(workspaceId, ofClass.id, {})
  // Delete the rejection, because it can quote the values.
  await tx.rejections.clear(workspaceId, 'google', ofClass.id)
  if (ofClass.sentVersion === null) return
  const job = { workspaceId, kind: 'upsert-google-class' as const, subject: ofClass.id, correlationId }
  await tx.jobs.insertOnce([job], now)
}

function pick(values: Record<string, string>, names: string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)))
}
