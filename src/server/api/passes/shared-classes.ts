import { ApiError, validationError } from '../../../core/errors.ts'
import { type ClassClaim, claimClass, differingNames } from '../../../core/rules/template/class-key.ts'
import type { Scope } from '../../../core/rules/template/placeholder.ts'
import { pathOfValue } from '../../../core/rules/template/rendered-size.ts'
import { buildScope, type PassFacts } from '../../../core/rules/template/resolve.ts'
import { keyOf, type NewClass } from '../../../storage/passes/google-classes.ts'
import type { NewPass, StoredPass } from '../../../storage/passes/pass-row.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { VersionContent } from '../../wallet-sync/definitions.ts'
import type { PassImage } from './pass-images.ts'

export type NamedPass = NewPass & Pick<StoredPass, 'templateName' | 'projectName'>

export type ClaimingPass = Omit<NamedPass, 'googleClassId'> & {
  claim: ClassClaim | undefined
  images: PassImage[]
}

export type Joined<Pass extends ClaimingPass> = Omit<Pass, 'claim'> & Pick<NamedPass, 'googleClassId'>

/**
 * Assigns passes to the classes that their keys name. The first pass of a key sets the values of the class. A pass with
 * different values is rejected, and the error contains both values. Errors in `passes` are returned unchanged.
 */
export async function joinClasses<Pass extends ClaimingPass>(
  tx: Repositories,
  workspaceId: string,
  passes: (Pass | ApiError)[],
  at: Date,
): Promise<(Joined<Pass> | ApiError)[]> {
  const newClasses = new Map<string, NewClass>()
  for (const pass of passes) {
    if (pass instanceof ApiError || !pass.claim) continue
    const one = { ...pass.claim, templateVersionId: pass.templateVersionId }
    if (!newClasses.has(keyOf(one))) newClasses.set(keyOf(one), one)
  }
  const classes = newClasses.size > 0 ? await tx.googleClasses.claim(workspaceId, [...newClasses.values()], at) : []
  const byKey = new Map(classes.map((one) => [keyOf(one), one]))
  return passes.map((asking) => {
    if (asking instanceof ApiError) return asking
    const { claim, ...pass } = asking
    if (!claim) return { ...pass, googleClassId: null }
    const ofClass = byKey.get(keyOf({ ...claim, templateVersionId: pass.templateVersionId }))!
    const names = differingNames(ofClass.values, claim.values)
    return names.length > 0 ? differs(names, ofClass.values, claim.values) : { ...pass, googleClassId: ofClass.id }
  })
}

function differs(names: string[], known: ClassClaim['values'], given: ClassClaim['values']): ApiError {
  return validationError(
    names.map((name) => ({
      path: pathOfValue(name),
      message:
        `Passes with the same google.classKey share a class at Google, which has ${excerpt(known[name] ?? '')} for ` +
        `{{${name}}}, not ${excerpt(given[name] ?? '')}: give the same value, or update a pass that has the key`,
    })),
  )
}

function excerpt(value: string): string {
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
}

export interface ClassChange {
  version: VersionContent
  facts: PassFacts
  expiresAt: Date | null
}

/**
 * Assigns an updated pass to its class, and returns the ID of the class. If the update changes a value that the passes
 * of the class share, the value changes for all of them. Other values of the class stay, even if the pass has different
 * ones. If a pass keeps its key in another version, the new class gets the values of the old one.
 */
export async function followClass(
  tx: Repositories,
  pass: StoredPass,
  { version, facts, expiresAt }: ClassChange,
  { now, correlationId }: { now: Date; correlationId: string },
): Promise<string | null> {
  const { workspaceId } = pass
  const { definition, passType, id: templateVersionId } = version
  const claimOf = (scope: Scope) => claimClass(definition, passType, scope, pass.googleIdentityId)
  const claim = claimOf(buildScope(definition.variables, facts, expiresAt))
  if (!claim) return null
  const before = claimOf(buildScope(definition.variables, pass, pass.expiresAt))!
  const [own] = pass.googleClassId ? await tx.googleClasses.list(workspaceId, [pass.googleClassId]) : []
  const kept = own?.keyDigest === claim.keyDigest ? pick(own.values, Object.keys(claim.values)) : {}
  const wanted = { templateVersionId, keyDigest: claim.keyDigest, values: { ...claim.values, ...kept } }
  // Lock the previous class in the same statement, so that two passes that swap classes do not deadlock.
  const isLeft = own && keyOf(own) !== keyOf(wanted)
  const held = await tx.googleClasses.claim(workspaceId, isLeft ? [wanted, own] : [wanted], now)
  const ofClass = held.find((one) => keyOf(one) === keyOf(wanted))!
  const { id, values, sentVersion } = ofClass
  const next = { ...values, ...pick(claim.values, differingNames(before.values, claim.values)) }
  if (differingNames(values, next).length > 0) {
    await tx.googleClasses.setValues(workspaceId, id, next)
    // If Google never received the class, its first object sends it in its current form.
    if (sentVersion !== null) {
      await tx.jobs.insertOnce([{ workspaceId, kind: 'upsert-google-class', subject: id, correlationId }], now)
    }
  }
  return id
}

/** Clears the values of a class if all of its passes are erased. */
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
