import { createLoadingCache } from '../../../core/fair-cache.ts'
import type { StoredSnapshot } from '../../../storage/scans/snapshots.ts'
import type { Store } from '../../../storage/store.ts'
import { EncodedBody, encodeBody } from '../../http/negotiation.ts'

/** The lists of passes for doors. The doors of a project share each list, which is encoded once (decisions/0010). */
export type DoorLists = ReturnType<typeof createDoorLists>

interface PageRequest<Page> {
  projectId: string
  /** The list to continue; undefined for a first page. */
  list: StoredSnapshot | undefined
  key: readonly unknown[]
  begin: () => Promise<StoredSnapshot>
  read: (list: StoredSnapshot) => Promise<Page>
}

interface ListContext {
  store: Pick<Store, 'snapshots'>
  workspaceId: string
  now: Date
}

/**
 * The time for which requests share a list. It is longer than the refresh interval of doors, so that each door can get
 * every shared list.
 */
const CURRENT_MS = 20_000
/** The time for which a list's pages are kept, so that a client that began to read the list can read all of it. */
const KEPT_MS = 2 * CURRENT_MS
/** The maximum size of the cache of compressed pages, for all workspaces: about four lists of 100,000 passes. */
const MAX_BYTES = 32 * 1024 * 1024
/**
 * The maximum number of lists in memory, without pages. Earlier lists are kept, because doors request the changes since
 * their last list.
 */
const MAX_LISTS = 10_000

export function createDoorLists() {
  const lists = new Map<string, StoredSnapshot>()
  const current = new Map<string, Promise<StoredSnapshot>>()
  const pages = createLoadingCache<Buffer>(MAX_BYTES, ({ length }) => length)

  /** Whether stored pages are still valid. False after a pass in the list was erased or a template was renamed. */
  const mayRepeat = (list: StoredSnapshot, { store, workspaceId }: ListContext) =>
    store.snapshots.mayRepeat(workspaceId, list)

  const isCurrent = ({ madeAt }: StoredSnapshot, { now }: ListContext) =>
    // Use the absolute difference: a concurrent request can have an earlier time than the list.
    Math.abs(now.getTime() - madeAt.getTime()) < CURRENT_MS

  function begin(place: string, { begin }: Pick<PageRequest<unknown>, 'begin'>, { workspaceId }: ListContext) {
    const begun = begin()
    const forget = () => current.get(place) === begun && current.delete(place)
    current.set(place, begun)
    begun.then((list) => {
      if (lists.size >= MAX_LISTS) lists.clear()
      lists.set(`${workspaceId}/${list.id}`, list)
      setTimeout(forget, KEPT_MS).unref()
    }, forget)
    return begun
  }

  async function currentList(request: PageRequest<unknown>, context: ListContext): Promise<StoredSnapshot> {
    const place = `${context.workspaceId}/${request.projectId}`
    const known = current.get(place)
    if (known) {
      const list = await known
      if (isCurrent(list, context) && (await mayRepeat(list, context))) return list
      // Another request can have begun a new list in the meantime.
      const next = current.get(place)
      if (next && next !== known) return next
    }
    return begin(place, request, context)
  }

  return {
    find: (workspaceId: string, id: string) => lists.get(`${workspaceId}/${id}`),

    /**
     * Returns a page of the project's current list. Requests within CURRENT_MS share a list, and requests for the same
     * page share one read.
     */
    async page<Page>(request: PageRequest<Page>, context: ListContext): Promise<EncodedBody<Page>> {
      const { workspaceId } = context
      const list = request.list ?? (await currentList(request, context))
      const read = () => request.read(list)
      if (request.list && !(await mayRepeat(list, context))) return encodeBody(await read())
      const key = JSON.stringify([list.id, ...request.key])
      const write = async () => {
        const { gzip } = await encodeBody(await read())
        setTimeout(() => pages.delete(key, workspaceId), KEPT_MS).unref()
        return gzip
      }
      return new EncodedBody<Page>(await pages.find(key, write, workspaceId))
    },
  }
}
