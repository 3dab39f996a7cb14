import type { Definition } from '../../core/contract/definition.ts'
import type { Store } from '../../storage/store.ts'
import type { PublishedVersion } from '../../storage/templates/template-versions.ts'
import { createFairCache } from '../fair-cache.ts'

/** What of a published version never changes. */
export type VersionContent = Pick<PublishedVersion, 'id' | 'version' | 'passType' | 'definition'>

/** Published versions, which never change: read once. */
export interface Definitions {
  find(workspaceId: string, templateVersionId: string): Promise<Definition | undefined>
  findVersion(workspaceId: string, templateVersionId: string): Promise<VersionContent | undefined>
}

/**
 * Of all workspaces, as JSON: thousands of definitions as people write them. As objects they take as much, and some twenty times as
 * much where somebody fills his with empty lists.
 */
const MAX_BYTES = 8 * 1024 * 1024

interface Kept {
  version: VersionContent
  bytes: number
}

/** Definitions of template versions, read once each: see Definitions. */
export function createDefinitions(store: Pick<Store, 'templateVersions'>): Definitions {
  const kept = createFairCache<Kept>(MAX_BYTES, ({ bytes }) => bytes)

  async function findVersion(workspaceId: string, templateVersionId: string): Promise<VersionContent | undefined> {
    const known = kept.get(workspaceId, templateVersionId)
    if (known) return known.version
    const [found] = await store.templateVersions.listByIds(workspaceId, [templateVersionId])
    if (!found) return undefined
    const { id, version, passType, definition } = found
    const bytes = JSON.stringify(definition).length
    kept.set(workspaceId, templateVersionId, { version: { id, version, passType, definition }, bytes })
    return found
  }

  return {
    find: async (workspaceId, templateVersionId) => (await findVersion(workspaceId, templateVersionId))?.definition,
    findVersion,
  }
}
