import type { Definition } from '../../contract/schemas/definition.ts'
import type { Issue } from '../../errors.ts'
import { contentId } from '../../ids.ts'
import { fill, placeholdersIn, type Scope } from '../template/placeholder.ts'

/** A group of passes, such as the tickets of an order. The issuer chooses its key. */
export interface PassGroup {
  /** The ID. It is a hash of workspace, project, and key, so that a new pass finds its group without a lookup. */
  id: string
  key: string
}

const MAX_GROUP_KEY_CHARACTERS = 255

export function groupOf(workspaceId: string, projectId: string | null, key: string): PassGroup {
  return { id: contentId(JSON.stringify([workspaceId, projectId, key])), key }
}

/** Returns the group key of a pass, or `null` if the key is empty or the definition has no group. */
export function groupKeyOf({ group }: Pick<Definition, 'group'>, scope: Scope): string | null {
  return (group && fill(group.key, scope).trim()) || null
}

/**
 * Compiles the check of the group key's length. Returns `undefined` if the definition has no group. The path of an
 * issue names a variable in the key.
 */
export function compileGroup(
  definition: Pick<Definition, 'group' | 'variables'>,
): ((scope: Scope) => Issue[]) | undefined {
  if (!definition.group) return undefined
  const used = new Set(placeholdersIn(definition.group.key))
  const variable = definition.variables.find(({ name }) => used.has(name))
  const path = variable ? ['variables', variable.name] : ['group', 'key']
  const message = `Results in a group key that is too long: at most ${MAX_GROUP_KEY_CHARACTERS} characters`
  return (scope) =>
    [...(groupKeyOf(definition, scope) ?? '')].length > MAX_GROUP_KEY_CHARACTERS ? [{ path, message }] : []
}
