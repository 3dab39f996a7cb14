import type { Definition } from '../../core/contract/definition.ts'
import type { Store } from '../../storage/store.ts'

/** Definitions of published versions, which never change: read once. */
export interface Definitions {
  find(workspaceId: string, templateVersionId: string): Promise<Definition | undefined>
}

const MAX_KEPT = 200

export function createDefinitions(store: Store): Definitions {
  const kept = new Map<string, Definition>()
  return {
    async find(workspaceId, templateVersionId) {
      const key = `${workspaceId}/${templateVersionId}`
      const known = kept.get(key)
      if (known) return known
      const [version] = await store.templateVersions.listByIds(workspaceId, [templateVersionId])
      if (!version) return undefined
      const [oldest] = kept.keys()
      if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest)
      kept.set(key, version.definition)
      return version.definition
    },
  }
}
