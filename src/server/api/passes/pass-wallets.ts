import type { PassWallets, PlatformRejection } from '../../../core/contract/wallets.ts'
import { validationError } from '../../../core/errors.ts'
import { deviceDigest } from '../../../core/ids.ts'
import type { StoredRejection } from '../../../storage/operations/rejections.ts'
import type { StoredGoogleObject } from '../../../storage/passes/google-objects.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { StoredRegistration } from '../../../storage/passes/registrations.ts'
import type { RequestContext } from '../../context.ts'

/** The maximum number of devices in a response. A single pass never has more devices. */
const MAX_DEVICES = 10_000

/** Returns the wallets by pass. @throws ApiError VALIDATION_ERROR if several passes have over MAX_DEVICES devices */
export async function walletsOf(
  passes: StoredPass[],
  { store, workspaceId }: Pick<RequestContext, 'store' | 'workspaceId'>,
): Promise<Map<string, PassWallets>> {
  const ids = passes.map(({ id }) => id)
  const devicesOf = ids.length > 1 ? await store.heldPasses.countDevices(workspaceId, ids) : new Map<string, number>()
  if ([...devicesOf.values()].reduce((sum, count) => sum + count, 0) > MAX_DEVICES) {
    const message = `More than ${MAX_DEVICES} devices hold the passes of this page: request fewer passes`
    throw validationError([{ path: ['limit'], message }])
  }
  const subjectsOf = ({ id, googleClassId, templateVersionId }: StoredPass) =>
    [id, googleClassId, templateVersionId].filter((one) => one !== null)
  const [registrations, objects, rejections] = await Promise.all([
    store.registrations.list(workspaceId, ids),
    store.googleObjects.list(workspaceId, ids),
    store.rejections.list(workspaceId, [...new Set(passes.flatMap(subjectsOf))]),
  ])
  const devices = new Map<string, StoredRegistration[]>(ids.map((id) => [id, []]))
  for (const registration of registrations) devices.get(registration.passId)?.push(registration)
  const byPass = new Map(objects.map((object) => [object.passId, object]))
  return new Map(
    passes.map((pass) => {
      const rejection = subjectsOf(pass)
        .map((id) => rejections.get(id))
        .find((found) => found !== undefined)
      return [pass.id, toPassWallets(pass, devices.get(pass.id) ?? [], byPass.get(pass.id), rejection)]
    }),
  )
}

export function showRejection(rejection: StoredRejection | undefined): PlatformRejection | null {
  return rejection ? { ...rejection, at: rejection.at.toISOString() } : null
}

function toPassWallets(
  pass: StoredPass,
  registrations: StoredRegistration[],
  object: StoredGoogleObject | undefined,
  rejection: StoredRejection | undefined,
): PassWallets {
  const { walletVersion } = pass
  return {
    passId: pass.id,
    walletVersion,
    apple: registrations.map((registration) => ({
      deviceId: deviceDigest(pass.workspaceId, registration.deviceId),
      registeredAt: registration.registeredAt.toISOString(),
      pushedAt: registration.pushedAt?.toISOString() ?? null,
      pushedVersion: registration.pushedVersion > 0 ? registration.pushedVersion : null,
      fetchedAt: registration.fetchedAt?.toISOString() ?? null,
      fetchedVersion: registration.fetchedVersion || null,
      // If no download of a device is recorded, the device has version 1, which it got when the pass was added.
      state: Math.max(registration.fetchedVersion, 1) >= walletVersion ? 'current' : 'stale',
      lastError: registration.lastError,
    })),
    google: object
      ? {
          sentAt: object.sentAt.toISOString(),
          sentVersion: object.sentVersion,
          installedAt: object.installedAt?.toISOString() ?? null,
          activatedAt: object.activatedAt?.toISOString() ?? null,
          state: object.sentVersion >= walletVersion ? 'current' : 'stale',
          lastError: object.lastError,
        }
      : null,
    lastError: showRejection(rejection),
  }
}
