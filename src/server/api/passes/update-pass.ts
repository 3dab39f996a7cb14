import type { AuditAction } from '../../../core/audit.ts'
import type { PassUpdate } from '../../../core/contract/passes.ts'
import { ApiError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { identifierDigest, newScanCode } from '../../../core/rules/crypto/scan-code.ts'
import { barcodeMessage, showsScanCode } from '../../../core/rules/display/card.ts'
import { addressDigest } from '../../../core/rules/join/join-form.ts'
import type { PassGroup } from '../../../core/rules/pass/groups.ts'
import { changedFields } from '../../../core/rules/pass/pass-rules.ts'
import { imagesOfPass } from '../../../core/rules/template/image-choice.ts'
import { buildScope } from '../../../core/rules/template/resolve.ts'
import { AddressTaken } from '../../../storage/join/join-identities-repository.ts'
import { bumpedCounters } from '../../../storage/passes/pass-change.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { PassChange } from '../../../storage/passes/passes-repository.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { RequestContext } from '../../context.ts'
import { openImages, type PassImage, usesOf } from '../../pass-content/pass-images.ts'
import { passUpdated } from '../../pass-content/pass-updated.ts'
import { isChange, planChange } from '../../pass-content/plan-change.ts'
import { deleteLeftClasses, followClasses, type OfClass } from '../../pass-content/shared-classes.ts'
import { endFormer } from '../../platforms/deliveries.ts'
import type { VersionContent } from '../../wallet-sync/definitions.ts'
import { queueWalletUpdates } from '../../wallet-sync/holders.ts'
import { audit } from '../audit.ts'
import { bytesOf, requireBytes } from '../limit-checks.ts'
import { cardOf, findAndroidAlert, queueAndroidAlert } from './android-alert.ts'
import { newAppleToken } from './create-passes.ts'
import { noPass } from './require-pass.ts'

export interface UpdateOptions {
  ifMatch: number[] | '*' | undefined
  dryRun: boolean
  /** Whether the update is part of a bulk change. Interactive changes reach wallets before bulk changes. */
  isBulk?: boolean
  /** The renewal, if any: a new scan code, or a new holder with a new scan code, token, and serial number. */
  renewal?: 'code' | 'holder'
}

export interface Updated {
  pass: StoredPass
  /** Whether Android phones ring for the change, or, in a dry run, would ring. */
  rings: boolean
}

/**
 * Updates a pass in the given transaction. Fields of `body` replace the stored fields, except that variables are
 * merged. The updated pass must satisfy its template.
 * @throws ApiError PASS_NOT_FOUND, PRECONDITION_FAILED, PASS_ALREADY_VOIDED, TEMPLATE_NOT_FOUND,
 * TEMPLATE_VERSION_NOT_NEWER, SYSTEM_VARIABLE_READONLY, VALIDATION_ERROR, CONFLICT
 */
export async function updatePass(
  tx: Repositories,
  passId: string,
  body: PassUpdate,
  options: UpdateOptions,
  context: RequestContext,
): Promise<Updated> {
  const { workspaceId, now, correlationId } = context
  const [pass] = await Promise.all([tx.passes.findForUpdate(workspaceId, passId), tx.events.expect(workspaceId)])
  if (!pass) throw noPass(passId)
  checkPrecondition(pass, options.ifMatch)
  if (pass.status === 'VOID') throw new ApiError('PASS_ALREADY_VOIDED', { details: { passId } })

  const version = await targetVersion(tx, pass, body.templateVersion, context)
  const fields = changedFields({
    label: body.label !== undefined,
    variables: Object.keys(body.variables ?? {}).length > 0,
    version: version.id !== pass.templateVersionId,
    scanCode: options.renewal !== undefined,
    groupKey: body.groupKey !== undefined,
  })
  if (fields.length === 0) return { pass, rings: false }
  if (options.renewal === 'code') requireShownCode(pass, version)
  // A new code also replaces the payload of an imported pass. Otherwise, the previous provider's code would stay valid.
  const code = options.renewal
    ? { scanCode: newScanCode(), scanPayload: null }
    : { scanCode: pass.scanCode, scanPayload: pass.scanPayload }
  const before = await getCurrentVersion(pass, version, context)
  // Remove the group. Otherwise, a new holder would stay in the group of the former holder's order.
  const wanted = options.renewal === 'holder' ? { ...body, groupKey: null } : body
  const change = planChange({ ...pass, ...code }, wanted, { version, before, wallets: context.services.wallets, now })
  if (options.renewal === 'holder') requireOtherCode(pass, version, change.identifierDigest)
  const newHolder = options.renewal === 'holder' ? { copyId: newId(now), appleToken: newAppleToken() } : undefined
  const isNew = isChange(pass, change)
  if (change.group?.id !== pass.group?.id && !fields.includes('groupKey')) fields.push('groupKey')
  const isRetried = pass.status === 'FAILED'
  const group = change.group ? { generation: await generationOf(tx, pass, change.group), ...change.group } : null
  const updated: StoredPass = {
    ...pass,
    ...(isNew && { ...change, group }),
    ...(newHolder && renewedFor(newHolder, pass)),
    ...((isNew || isRetried) && { status: change.status, ...bumpedCounters(pass, { isShown: isNew }, now) }),
    ...(isNew && { revision: pass.revision + 1 }),
  }
  const images = imagesOfPass(version.definition, change.variables)
  const unknown = (await openImages(tx, workspaceId, images))(images)
  if (unknown) throw unknown
  await requireBytes(tx, context, bytesOf(change.variables) - bytesOf(pass.variables))
  const shown = { before: { pass, version: before }, after: { pass: updated, version } }
  const ring = body.notify && isNew ? await findAndroidAlert(tx, shown, context) : undefined
  const rings = ring !== undefined
  if (options.dryRun) return { pass: updated, rings }

  if (isNew) {
    Object.assign(updated, await storeChange(tx, { pass, code, version, change, newHolder, images }, options, context))
    if (ring !== undefined) await queueAndroidAlert(tx, passId, ring, context)
  } else if (isRetried) {
    await tx.passes.setQueuedAgain(workspaceId, [passId], now)
  }
  if (isRetried) {
    await tx.jobs.insert([{ workspaceId, kind: 'issue-pass', subject: passId, correlationId }], now)
  }
  const event = passUpdated({ ...pass, templateVersionId: version.id }, fields, correlationId)
  await tx.events.insert(workspaceId, [event], now)
  await audit(tx, context, actionOf(options), passId)
  return { pass: updated, rings }
}

interface PlannedChange {
  pass: StoredPass
  code: Pick<StoredPass, 'scanCode' | 'scanPayload'>
  version: VersionContent
  change: PassChange
  newHolder: PassChange['newHolder']
  images: PassImage[]
}

async function storeChange(
  tx: Repositories,
  { pass, code, version, change, newHolder, images }: PlannedChange,
  { isBulk }: UpdateOptions,
  context: RequestContext,
): Promise<OfClass> {
  const { workspaceId, now, correlationId } = context
  const { id } = pass
  const { label, variables, expiresAt } = change
  const facts = { ...pass, label, variables, ...code }
  const [ofClass] = await followClasses(tx, workspaceId, [{ pass, version, facts, expiresAt }], context)
  const queueUpdates = () => queueWalletUpdates(tx, workspaceId, [id], { at: now, correlationId, isBulk })
  await Promise.all([
    tx.passes.update(workspaceId, id, { ...change, ...ofClass!, ...(newHolder && { newHolder }) }, now),
    newHolder ? undefined : queueUpdates(),
  ])
  if (newHolder) {
    if (pass.join) await tx.joinIdentities.deleteOfPass(workspaceId, id)
    await endFormer(tx, pass, { card: cardOf({ pass, version }), now, correlationId })
    const kept = images.map((image) => image.id)
    await tx.images.deleteOfPass(workspaceId, id, kept)
    await queueUpdates()
  } else if (pass.join) await followAddress(tx, pass, variables)
  if (images.length > 0) await tx.images.insertUses(workspaceId, usesOf({ id, images }))
  await deleteLeftClasses(tx, workspaceId, [pass], [ofClass!])
  return ofClass!
}

/**
 * If the pass was issued by a join page, and the variable with its email address changed, stores the digest of the new
 * address, so that the holder gets the link there. If the variable is now empty, deletes the digest.
 * @throws ApiError CONFLICT if another pass of the join page has the new address
 */
async function followAddress(
  tx: Repositories,
  { workspaceId, id, variables: before }: StoredPass,
  variables: StoredPass['variables'],
): Promise<void> {
  const { variable } = (await tx.joinIdentities.findByPass(workspaceId, id)) ?? {}
  if (variable === undefined || variables[variable] === before[variable]) return
  const address = variables[variable]
  if (typeof address !== 'string' || address === '') return tx.joinIdentities.deleteOfPass(workspaceId, id)
  try {
    await tx.joinIdentities.setDigest(workspaceId, id, addressDigest(address))
  } catch (error) {
    if (!(error instanceof AddressTaken)) throw error
    throw new ApiError('CONFLICT', {
      message: `Another pass of the join page has this email address: change variables.${variable} of that pass first, or erase that pass.`,
      details: { passId: id, variable },
    })
  }
}

/**
 * Returns the fields of a pass that change with a new holder. The values must equal those that `toHolderColumns`
 * stores.
 */
function renewedFor(newHolder: NonNullable<PassChange['newHolder']>, { linkGeneration, join }: StoredPass) {
  const own = { serialNumber: newHolder.copyId, googleObjectId: null }
  const withoutConsent = join && { ...join, consentVersion: null, consentedAt: null }
  return { ...newHolder, ...own, linkGeneration: linkGeneration + 1, message: null, join: withoutConsent }
}

function checkPrecondition(pass: StoredPass, ifMatch: UpdateOptions['ifMatch']): void {
  if (ifMatch === undefined || ifMatch === '*' || ifMatch.includes(pass.revision)) return
  throw new ApiError('PRECONDITION_FAILED', { details: { revision: pass.revision } })
}

/**
 * @throws ApiError CONFLICT if the pass does not show the scan code, because a new code would not change the barcode
 */
function requireShownCode(pass: StoredPass, { definition }: VersionContent): void {
  if (showsScanCode(definition)) return
  const message = definition.design.barcode?.message
  throw new ApiError('CONFLICT', {
    message: message
      ? `The barcode does not show the scan code: its message is ${message}. Change the variables in the message instead.`
      : 'The pass does not show the scan code, because its template has no barcode.',
    details: { passId: pass.id, templateVersionId: pass.templateVersionId },
  })
}

/** @throws ApiError CONFLICT if the barcode would stay the same, because the former holder could still enter */
function requireOtherCode(pass: StoredPass, { definition }: VersionContent, digest: Uint8Array): void {
  const before = barcodeMessage(definition, buildScope(definition, pass, pass.expiresAt))
  if (!identifierDigest(before).equals(digest)) return
  throw new ApiError('CONFLICT', {
    message:
      `The barcode would not change: its message is ${definition.design.barcode?.message}. Change the variables in ` +
      'the message, so that the previous holder cannot use the barcode.',
    details: { passId: pass.id },
  })
}

function actionOf({ renewal }: UpdateOptions): AuditAction {
  if (renewal === undefined) return 'pass.update'
  return renewal === 'code' ? 'pass.rotate-code' : 'pass.transfer'
}

async function generationOf(tx: Repositories, pass: StoredPass, { id }: PassGroup): Promise<number> {
  if (id === pass.group?.id) return pass.group.generation
  return (await tx.groups.listGenerations(pass.workspaceId, [id])).get(id) ?? 0
}

async function targetVersion(
  tx: Repositories,
  pass: StoredPass,
  wanted: PassUpdate['templateVersion'],
  { workspaceId, services }: RequestContext,
): Promise<VersionContent> {
  const number = wanted === 'latest' ? pass.latestTemplateVersion : (wanted ?? pass.templateVersion)
  if (number !== null && number < pass.templateVersion) {
    throw new ApiError('TEMPLATE_VERSION_NOT_NEWER', { details: { templateVersion: pass.templateVersion } })
  }
  const isOwn = number === pass.templateVersion
  const newest = pass.latestTemplateVersion
  if (!isOwn && (number === null || newest === null || number > newest)) throw noVersion(wanted)
  const version = isOwn
    ? await services.definitions.findVersion(workspaceId, pass.templateVersionId)
    : await tx.templateVersions.findPublished(workspaceId, pass.templateId, number)
  if (!version) throw noVersion(wanted)
  return version
}

async function getCurrentVersion(
  { workspaceId, templateVersionId }: StoredPass,
  version: VersionContent,
  { services }: RequestContext,
): Promise<VersionContent> {
  if (templateVersionId === version.id) return version
  return (await services.definitions.findVersion(workspaceId, templateVersionId)) ?? version
}

function noVersion(wanted: PassUpdate['templateVersion']): ApiError {
  return new ApiError('TEMPLATE_NOT_FOUND', {
    message: 'The template does not have this published version, or was deleted.',
    details: { templateVersion: wanted },
  })
}
