import type { Definition } from '../../core/contract/schemas/definition.ts'
import { createFairCache } from '../../core/fair-cache.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Store } from '../../storage/store.ts'
import type { PublishedVersion } from '../../storage/templates/template-versions-repository.ts'
import { joined, keysOf, type Overrides } from '../../wallets/google/objects.ts'

/** The parts of a published version that never change. */
export type VersionContent = Pick<PublishedVersion, 'id' | 'version' | 'passType' | 'definition'>

export type Definitions = ReturnType<typeof createDefinitions>

/**
 * The size of the cache for all workspaces, measured as JSON: thousands of typical definitions. In memory, a definition
 * is about as large as its JSON, but up to twenty times as large if it consists of empty lists.
 */
const MAX_BYTES = 8 * 1024 * 1024

/** The size of the cache of keys for all workspaces. A version has a few hundred bytes of keys. */
const MAX_KEY_BYTES = 2 * 1024 * 1024

/** The number of versions whose Google overrides are read per query. Overrides can have a megabyte per version. */
const READ_AT_ONCE = 10

type OverrideKeys = ReturnType<typeof keysOf>

/**
 * The maximum number of versions in memory at the same time. The JSON of a version can have a megabyte, and takes
 * several times as much memory if it consists of empty lists.
 */
export const VERSIONS_AT_ONCE = 5

interface Kept {
  version: VersionContent
  bytes: number
}

/** Creates a cache of published versions, which never change. */
export function createDefinitions(store: Pick<Store, 'templateVersions'>) {
  const kept = createFairCache<Kept>(MAX_BYTES, ({ bytes }) => bytes)

  /**
   * Returns up to VERSIONS_AT_ONCE versions by ID. Reads all versions that are not cached in one query.
   * @param from the repositories of a transaction, which must not wait for a second connection
   */
  async function findVersions(workspaceId: string, ids: string[], from = store) {
    const found = new Map<string, VersionContent>()
    for (const id of ids) {
      const known = kept.get(workspaceId, id)
      if (known) found.set(id, known.version)
    }
    const unknown = ids.filter((id) => !found.has(id))
    const read = unknown.length > 0 ? await from.templateVersions.listByIds(workspaceId, unknown) : []
    for (const { id, version, passType, definition } of read) {
      const content = { id, version, passType, definition }
      kept.set(workspaceId, id, { version: content, bytes: JSON.stringify(definition).length })
      found.set(id, content)
    }
    return found
  }

  const findVersion = async (workspaceId: string, id: string) => (await findVersions(workspaceId, [id])).get(id)

  const retired = createFairCache<OverrideKeys>(MAX_KEY_BYTES, (keys) => JSON.stringify(keys).length)

  async function keysOfVersions(workspaceId: string, ids: string[]): Promise<OverrideKeys[]> {
    const known = ids.map((id) => retired.get(workspaceId, id))
    const unknown = ids.filter((_, n) => !known[n])
    if (unknown.length === 0) return known as OverrideKeys[]
    const read = await store.templateVersions.listOverrides(workspaceId, unknown, 'google')
    return ids.map((id, n) => {
      const keys = known[n] ?? keysOf((read.get(id) as Definition['google'])?.object ?? {})
      if (!known[n]) retired.set(workspaceId, id, keys)
      return keys
    })
  }

  return {
    /**
     * Returns the keys of `google.object`, without values, in published versions that are older than the version of
     * the pass. The object at Google can still have these keys.
     */
    async listRetired({
      workspaceId,
      templateId,
      templateVersion,
    }: Pick<StoredPass, 'workspaceId' | 'templateId' | 'templateVersion'>): Promise<Overrides[]> {
      if (templateVersion === 1) return []
      const ids = await store.templateVersions.listPublishedBefore(workspaceId, templateId, templateVersion)
      let all: OverrideKeys = {}
      for (let first = 0; first < ids.length; first += READ_AT_ONCE) {
        const some = await keysOfVersions(workspaceId, ids.slice(first, first + READ_AT_ONCE))
        all = some.reduce(joined, all)
      }
      return ids.length > 0 ? [all] : []
    },
    find: async (workspaceId: string, id: string) => (await findVersion(workspaceId, id))?.definition,
    findVersion,
    findVersions,
  }
}
