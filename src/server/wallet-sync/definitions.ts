import type { Definition } from '../../core/contract/definition.ts'
import type { Store } from '../../storage/store.ts'
import type { PublishedVersion } from '../../storage/templates/template-versions.ts'

/** What of a published version never changes. */
export type VersionContent = Pick<PublishedVersion, 'id' | 'version' | 'passType' | 'definition'>

/** Published versions, which never change: read once. */
export interface Definitions {
  find(workspaceId: string, templateVersionId: string): Promise<Definition | undefined>
  findVersion(workspaceId: string, templateVersionId: string): Promise<VersionContent | undefined>
}

const MAX_KEPT = 200

/** Definitions of template versions, read once each: see Definitions. */
export function createDefinitions(store: Pick<Store, 'templateVersions'>): Definitions {
  /** The one that was asked for last stands last. */
  const kept = new Map<string, VersionContent>()

  async function findVersion(workspaceId: string, templateVersionId: string) {
    const key = `${workspaceId}/${templateVersionId}`
    const known = kept.get(key) ?? (await store.templateVersions.listByIds(workspaceId, [templateVersionId]))[0]
    if (!known) return undefined
    const { id, version, passType, definition } = known
    kept.delete(key)
    kept.set(key, { id, version, passType, definition })
    const [oldest] = kept.keys()
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest)
    return known
  }

  return {
    find: async (workspaceId, templateVersionId) => (await findVersion(workspaceId, templateVersionId))?.definition,
    findVersion,
  }
}
