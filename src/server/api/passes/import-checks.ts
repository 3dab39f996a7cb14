import type { PassImport } from '../../../core/contract/passes.ts'
import { byPlatform, type Platform } from '../../../core/contract/schemas/platform.ts'
import { ApiError, type Issue, validationError } from '../../../core/errors.ts'
import { MAX_PASSES_PER_DEVICE } from '../../../core/rules/pass/workspace-limits.ts'
import type { ImportedPass } from '../../../storage/passes/imported-passes.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { PublishedVersion } from '../../../storage/templates/template-versions-repository.ts'
import { accountOf } from '../../../storage/workspaces/identities-repository.ts'
import type { RequestContext } from '../../context.ts'
import { noPublishedVersion } from '../templates/template-errors.ts'

/** A version and the platform accounts of its passes. The account of a platform that is not configured is undefined. */
export interface ImportVersion {
  version: PublishedVersion
  accounts: Record<Platform, string | null | undefined>
  /**
   * Whether other workspaces can use the account. If so, the import rejects passes of other providers, because
   * workspaces could take over each other's passes.
   */
  isShared: Record<Platform, boolean>
}

/** @throws ApiError TEMPLATE_NOT_FOUND; VALIDATION_ERROR if the workspace cannot use the identity, or it is retired */
export async function openVersion(
  templateId: string,
  identityId: string | undefined,
  { store, workspaceId, token, services }: RequestContext,
): Promise<ImportVersion> {
  const [published] = await store.templateVersions.listNewestPublished(workspaceId, [templateId])
  if (!published) throw noPublishedVersion(templateId)
  const identityError = (message: string) => validationError([{ path: ['identityId'], message }])
  const version = { ...published }
  if (identityId !== undefined) {
    const given = token.projectIds
      ? undefined
      : await store.transaction((tx) => tx.identities.findGranted(workspaceId, identityId))
    if (!given) throw identityError('Is not an identity of this workspace: see GET /v1/identities')
    version[`${given.platform}IdentityId`] = given.id
  }
  const ids = byPlatform((platform) => version[`${platform}IdentityId`])
  const own = await store.identities.listByIds(Object.values(ids).filter((id) => id !== null))
  const retired = own.find(({ status }) => status === 'retired')
  if (retired)
    throw identityError(
      `The identity ${retired.name} is retired: choose another one, or ask the operator to reactivate it`,
    )
  const isOnly = Object.values(ids).every((id) => id !== null) || (await store.workspaces.isOnly(workspaceId))
  return {
    version,
    accounts: byPlatform((platform) => {
      const identity = own.find(({ id }) => id === ids[platform])
      return identity ? accountOf(identity) : services.wallets[platform]?.account
    }),
    isShared: byPlatform((platform) => !isOnly && ids[platform] === null),
  }
}

export function findIdentityMismatch(
  pass: PassImport,
  { accounts: { apple: passTypeIdentifier, google: issuerId }, isShared }: ImportVersion,
): ApiError | undefined {
  const issues: Issue[] = []
  const { serialNumber, googleObjectId } = pass
  if (serialNumber !== undefined && passTypeIdentifier === undefined)
    issues.push({ path: ['serialNumber'], message: 'This server does not issue Apple passes' })
  if (pass.passTypeIdentifier !== undefined && pass.passTypeIdentifier !== passTypeIdentifier) {
    const message = `The identity has the pass type ${passTypeIdentifier}: choose the identity of ${pass.passTypeIdentifier}`
    issues.push({ path: ['passTypeIdentifier'], message })
  }
  if (googleObjectId !== undefined && !googleObjectId.startsWith(`${issuerId}.`)) {
    const message = issuerId
      ? `The identity has the issuer ${issuerId}: choose the identity of the object's issuer`
      : 'This server does not issue Google passes'
    issues.push({ path: ['googleObjectId'], message })
  }
  if (issues.length > 0) return validationError(issues)
  if ((serialNumber !== undefined && isShared.apple) || (googleObjectId !== undefined && isShared.google))
    return new ApiError('FORBIDDEN', { message: SHARED })
}

const SHARED =
  'Other workspaces use the pass type and the issuer of this server, too. Ask the operator for a separate identity ' +
  'for passes of another provider ("passes identity add" with --workspace).'

/** The number of passes of each device, in accepted rows that are not stored yet. */
export type NamedDevices = Map<string, number>

/**
 * Returns an error, by externalPassId, for each row that would exceed the maximum number of passes of the workspace on
 * a device. On PostgreSQL, concurrent transactions can exceed the maximum together.
 * @param named the counts to which the devices of accepted rows are added
 */
export async function rejectFullDevices(
  tx: Repositories,
  workspaceId: string,
  plans: Pick<ImportedPass, 'externalPassId' | 'devices'>[],
  named: NamedDevices,
): Promise<Map<string, ApiError>> {
  const ids = new Set(plans.flatMap(({ devices }) => devices.map(({ deviceId }) => deviceId)))
  const rejected = new Map<string, ApiError>()
  if (ids.size === 0) return rejected
  const stored = await tx.deviceLists.countPasses(workspaceId, [...ids])
  const heldBy = (id: string) => (stored.get(id) ?? 0) + (named.get(id) ?? 0)
  for (const { externalPassId, devices } of plans) {
    const full = devices.find(({ deviceId }) => heldBy(deviceId) >= MAX_PASSES_PER_DEVICE)
    if (full) rejected.set(externalPassId, deviceIsFull(full.deviceId))
    else for (const { deviceId } of devices) named.set(deviceId, (named.get(deviceId) ?? 0) + 1)
  }
  return rejected
}

function deviceIsFull(deviceLibraryIdentifier: string): ApiError {
  return new ApiError('CONFLICT', {
    message:
      `The device ${deviceLibraryIdentifier} holds ${MAX_PASSES_PER_DEVICE} passes of the workspace, which is the maximum: ` +
      'import the pass without this device.',
    details: { deviceLibraryIdentifier, allowed: MAX_PASSES_PER_DEVICE },
  })
}
