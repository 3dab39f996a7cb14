import type { Definition } from '../../contract/definition.ts'
import type { Issue } from '../../errors.ts'
import { contentId } from '../../ids.ts'
import { fill, placeholdersIn, type Scope } from '../template/placeholder.ts'

/** Passes that belong together, such as the tickets of an order, by what their issuer calls them. */
export interface PassGroup {
  /** Of workspace, project and key: who makes the first pass of a group needs to ask nobody. */
  id: string
  key: string
}

const MAX_GROUP_KEY_CHARACTERS = 255

/** The group that a key names in a project, or among passes without one. */
export function groupOf(workspaceId: string, projectId: string | null, key: string): PassGroup {
  return { id: contentId(JSON.stringify([workspaceId, projectId, key])), key }
}

/** The key that the definition makes of the values of a pass; null where it comes out empty, or the definition has none. */
export function groupKeyOf({ group }: Pick<Definition, 'group'>, scope: Scope): string | null {
  return (group && fill(group.key, scope).trim()) || null
}

/** Compiles the check of the key that values come to, which names a variable of it; undefined where the definition has none. */
export function compileGroup(
  definition: Pick<Definition, 'group' | 'variables'>,
): ((scope: Scope) => Issue[]) | undefined {
  if (!definition.group) return undefined
  const used = new Set(placeholdersIn(definition.group.key))
  const variable = definition.variables.find(({ name }) => used.has(name))
  const path = variable ? ['variables', variable.name] : ['group', 'key']
  const message = `Makes a group key that is too long: at most ${MAX_GROUP_KEY_CHARACTERS} characters`
  return (scope) =>
    [...(groupKeyOf(definition, scope) ?? '')].length > MAX_GROUP_KEY_CHARACTERS ? [{ path, message }] : []
}
