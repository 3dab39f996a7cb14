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

/** A pass that is to be made, and the names that it is shown with. */
export type NamedPass = NewPass & Pick<StoredPass, 'templateName' | 'projectName'>

/** A pass that is to be made, with the class that it asks for. */
export type ClaimingPass = Omit<NamedPass, 'googleClassId'> & {
  claim: ClassClaim | undefined
  /** Those that its variables bring. */
  images: PassImage[]
}

/** The same once its class is known. */
export type Joined<Pass extends ClaimingPass> = Omit<Pass, 'claim'> & Pick<NamedPass, 'googleClassId'>

/**
 * Gives passes the classes that they ask for. The first of a key says what stands in its class; one that would say otherwise
 * is refused, with both values. What was refused before stays so.
 */
export async function joinClasses<Pass extends ClaimingPass>(
  tx: Repositories,
  workspaceId: string,
  passes: (Pass | ApiError)[],
  at: Date,
): Promise<(Joined<Pass> | ApiError)[]> {
  const asked = new Map<string, NewClass>()
  for (const pass of passes) {
    if (pass instanceof ApiError || !pass.claim) continue
    const one = { ...pass.claim, templateVersionId: pass.templateVersionId }
    if (!asked.has(keyOf(one))) asked.set(keyOf(one), one)
  }
  const classes = asked.size > 0 ? await tx.googleClasses.claim(workspaceId, [...asked.values()], at) : []
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
        `Passes with the same google.classKey share a class at Google, which says ${excerpt(known[name] ?? '')} for ` +
        `{{${name}}} and not ${excerpt(given[name] ?? '')}: give the same value, or update a pass that has the key`,
    })),
  )
}

function excerpt(value: string): string {
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
}

/** What an update makes of a pass, before its class is known. */
export interface ClassChange {
  version: VersionContent
  /** The pass as it will be. */
  facts: PassFacts
  expiresAt: Date | null
}

/**
 * The class of a pass after an update. What the update changes on the pass changes in the class, once for all passes of it;
 * what it leaves alone stays there, whatever the pass itself says. A pass that takes its key along into another version takes
 * what its class said along.
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
  const asked = { templateVersionId, keyDigest: claim.keyDigest, values: { ...claim.values, ...kept } }
  // That which it leaves is held, too: taken together, two that change places never wait for each other.
  const isLeft = own && keyOf(own) !== keyOf(asked)
  const held = await tx.googleClasses.claim(workspaceId, isLeft ? [asked, own] : [asked], now)
  const ofClass = held.find((one) => keyOf(one) === keyOf(asked))!
  const { id, values, sentVersion } = ofClass
  const next = { ...values, ...pick(claim.values, differingNames(before.values, claim.values)) }
  if (differingNames(values, next).length > 0) {
    await tx.googleClasses.setValues(workspaceId, id, next)
    // What Google was never sent is sent as it then stands, with the first object.
    if (sentVersion !== null) {
      await tx.jobs.insertOnce([{ workspaceId, kind: 'upsert-google-class', subject: id, correlationId }], now)
    }
  }
  return id
}

/** Takes what passes said out of a class in which none stands any more whose data was not erased. */
export async function forgetClass(
  tx: Repositories,
  { workspaceId, googleClassId }: StoredPass,
  { now, correlationId }: { now: Date; correlationId: string },
): Promise<void> {
  const ofClass = googleClassId && (await tx.googleClasses.findForUpdate(workspaceId, googleClassId))
  if (!ofClass || (await tx.googleClasses.listInUse([ofClass])).size > 0) return
  await tx.googleClasses.setValues(workspaceId, ofClass.id, {})
  // Google may quote what it refuses.
  await tx.rejections.clear(workspaceId, 'google', ofClass.id)
  if (ofClass.sentVersion === null) return
  const job = { workspaceId, kind: 'upsert-google-class' as const, subject: ofClass.id, correlationId }
  await tx.jobs.insertOnce([job], now)
}

function pick(values: Record<string, string>, names: string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)))
}
