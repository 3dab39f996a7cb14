import { ApiError } from '../../../core/errors.ts'
import { MAX_PASSES_PER_DEVICE } from '../../../core/rules/pass/workspace-limits.ts'
import type { ImportedPass } from '../../../storage/passes/imported-passes.ts'
import type { Repositories } from '../../../storage/store.ts'

/** The number of passes that rows of an import, which are accepted and not stored, add to each device. */
export type NamedDevices = Map<string, number>

/**
 * Returns errors by externalPassId for rows that name a device which would hold more than the allowed number of passes
 * of the workspace. Concurrent transactions on PostgreSQL do not see each other's rows, so they can exceed the limit by
 * what they insert.
 * @param named accumulates the devices of accepted rows
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
      'import the pass without it.',
    details: { deviceLibraryIdentifier, allowed: MAX_PASSES_PER_DEVICE },
  })
}
