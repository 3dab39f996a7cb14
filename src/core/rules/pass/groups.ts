import type { Definition } from '../../contract/definition.ts'
import type { DoorGroup } from '../../contract/scan-shapes.ts'
import type { Issue } from '../../errors.ts'
import { contentId } from '../../ids.ts'
import { fill, type Scope } from '../template/placeholder.ts'
import type { PassStatus } from './pass-status.ts'

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

/** Compiles the check of the key that values come to; undefined where the definition has none. */
export function compileGroup(
  definition: Pick<Definition, 'group' | 'variables'>,
): ((scope: Scope) => Issue[]) | undefined {
  if (!definition.group) return undefined
  const path: Issue['path'] = ['group', 'key']
  const message = `Must come out with at most ${MAX_GROUP_KEY_CHARACTERS} characters`
  return (scope) =>
    [...(groupKeyOf(definition, scope) ?? '')].length > MAX_GROUP_KEY_CHARACTERS ? [{ path, message }] : []
}

/** The most passes of a group that a scan looks at. */
export const MAX_GROUP_AT_DOOR = 100
const MAX_OPEN = 20

/** A pass of a group as a door sees it. */
export interface GroupMember {
  passId: string
  externalPassId: string
  label: string
  status: PassStatus
  /** Whether it was let in, in the scan context of the attempt. */
  isUsed: boolean
}

/** How far the group of a scanned pass has been let in, of its members by id: as many as a door looks at, and one more. */
export function groupAtDoor(members: GroupMember[], scannedPassId: string): DoorGroup {
  const counted = members.slice(0, MAX_GROUP_AT_DOOR).filter(({ status, isUsed }) => isUsed || status !== 'VOID')
  const open = counted.filter(({ passId, status, isUsed }) => {
    return !isUsed && status !== 'EXPIRED' && passId !== scannedPassId
  })
  return {
    size: counted.length,
    used: counted.filter(({ isUsed }) => isUsed).length,
    open: open.slice(0, MAX_OPEN).map(({ passId, externalPassId, label }) => ({ passId, externalPassId, label })),
    ...(members.length > MAX_GROUP_AT_DOOR && { hasMore: true }),
  }
}
