import type { Page } from '../../core/contract/common.ts'
import { validationError } from '../../core/errors.ts'
import type { Route } from '../../core/route.ts'
import type { ServerKeys } from '../../core/rules/crypto/server-key.ts'
import { deriveKey } from '../../core/rules/crypto/server-key.ts'
import { sealCursor, unsealCursor } from '../../core/rules/lists/cursor.ts'
import type { ListPage } from '../../storage/db/list.ts'

/**
 * Cursors as clients hold them: sealed, so that nobody can make one up, and good for the workspace and the list only that
 * they were answered in. Handlers and storage never see the seal.
 */
export interface Cursors {
  /** The cursor of a request without its seal. @throws ApiError VALIDATION_ERROR */
  unseal(cursor: string, list: RequestedList): string
  seal(cursor: string, list: RequestedList): string
}

/** The list that a cursor belongs to. */
export interface RequestedList {
  workspaceId: string
  route: Route
  /** Of the path: whose rows the list shows. */
  params: unknown
}

/** Signs cursors with the current server key, and verifies them with the previous ones too (decisions/0006). */
export function createCursors({ current, previous }: ServerKeys): Cursors {
  const keys = [current, ...previous].map((key) => deriveKey(key, 'cursors'))
  return {
    seal: (cursor, list) => sealCursor(cursor, scopeOf(list), keys[0]!),
    unseal(cursor, list) {
      const text = unsealCursor(cursor, scopeOf(list), keys)
      if (text !== undefined) return text
      throw validationError([{ path: ['cursor'], message: 'Is not a valid cursor of this list; start without one' }])
    },
  }
}

function scopeOf({ workspaceId, route, params }: RequestedList): string[] {
  return [workspaceId, route.path, JSON.stringify(params ?? {})]
}

/** The page envelope, which every list answers with. */
export function toPage<T>({ rows, ...page }: ListPage<T>): Page<T> {
  return { items: rows, ...page }
}
