import { validationError } from '../../core/errors.ts'
import type { Route } from '../../core/route.ts'
import type { ServerKeys } from '../../core/rules/crypto/server-key.ts'
import { deriveKey } from '../../core/rules/crypto/server-key.ts'
import { sealCursor, unsealCursor } from '../../core/rules/lists/cursor.ts'

export type Cursors = ReturnType<typeof createCursors>

export interface RequestedList {
  workspaceId: string
  route: Route
  /** The path parameters, which select the rows of the list. */
  params: unknown
  /** The projects of the token; null if it can read all rows. A cursor contains the total of the rows of its token. */
  projectIds: readonly string[] | null
}

/**
 * Creates functions that seal and unseal cursors. Clients cannot forge a sealed cursor, or use it in another workspace
 * or list. Handlers and storage use unsealed cursors. Cursors of previous server keys are accepted (decisions/0006).
 */
export function createCursors({ current, previous }: ServerKeys) {
  const keys = [current, ...previous].map((key) => deriveKey(key, 'cursors'))
  return {
    seal: (cursor: string, list: RequestedList) => sealCursor(cursor, scopeOf(list), keys[0]!),
    /** @throws ApiError VALIDATION_ERROR if the cursor was not sealed for this list */
    unseal(cursor: string, list: RequestedList): string {
      const text = unsealCursor(cursor, scopeOf(list), keys)
      if (text !== undefined) return text
      throw validationError([{ path: ['cursor'], message: 'Is not a valid cursor of this list; start without one' }])
    },
  }
}

function scopeOf({ workspaceId, route, params, projectIds }: RequestedList): string[] {
  return [workspaceId, route.path, JSON.stringify(params ?? {}), ...(projectIds ?? []).toSorted()]
}
