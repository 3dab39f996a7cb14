import { createFairCache } from '../../../storage/db/fair-cache.ts'
import type { StoredSnapshot } from '../../../storage/scans/snapshots.ts'
import type { Store } from '../../../storage/store.ts'
import { EncodedBody, encodeBody } from '../../http/negotiation.ts'

/** Lists that the doors of a project share, so that each list is read and encoded once (decisions/0010). */
export interface DoorLists {
  find(workspaceId: string, id: string): StoredSnapshot | undefined
  /**
   * Returns a page of the current list of the project. All requests within 20 seconds share a list, and all requests
   * for a page share one read.
   */
  page<Page>(request: PageRequest<Page>, context: ListContext): Promise<EncodedBody<Page>>
}

interface PageRequest<Page> {
  projectId: string
  /** The list whose next page is requested; undefined for a first page. */
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
 * The time for which requests share a list. It is longer than the interval at which doors refresh, so that each door
 * gets every shared list.
 */
const CURRENT_MS = 20_000
/** The time for which the pages of a list are kept, so that clients can read the list to its end. */
const KEPT_MS = 2 * CURRENT_MS
/** The size of the cache of compressed pages of all workspaces: four lists of 100,000 passes. */
const MAX_BYTES = 32 * 1024 * 1024
/**
 * The maximum number of lists in memory. Earlier lists are kept, because doors request the changes since their last
 * list.
 */
const MAX_LISTS = 10_000

export function createDoorLists(): DoorLists {
  const lists = new Map<string, StoredSnapshot>()
  const current = new Map<string, Promise<StoredSnapshot>>()
  const pages = createFairCache<Buffer>(MAX_BYTES, ({ length }) => length)
  const reading = new Map<string, Promise<EncodedBody<never>>>()

  /** Whether pages of a list can be sent again: no pass in the list was erased, and no template was renamed. */
  const mayRepeat = (list: StoredSnapshot, { store, workspaceId }: ListContext) =>
    store.snapshots.mayRepeat(workspaceId, list)

  const isCurrent = ({ madeAt }: StoredSnapshot, { now }: ListContext) =>
    // Use the absolute difference, because the list can be newer than a concurrent request.
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
      // If another request began a list in the meantime, use that list.
      const next = current.get(place)
      if (next && next !== known) return next
    }
    return begin(place, request, context)
  }

  async function write<Page>(workspaceId: string, key: string, read: () => Promise<Page>) {
    const body = await encodeBody(await read())
    pages.set(workspaceId, key, body.gzip)
    setTimeout(() => pages.delete(workspaceId, key), KEPT_MS).unref()
    return body
  }

  return {
    find: (workspaceId, id) => lists.get(`${workspaceId}/${id}`),

    async page<Page>(request: PageRequest<Page>, context: ListContext) {
      const { workspaceId } = context
      const list = request.list ?? (await currentList(request, context))
      const read = () => request.read(list)
      if (request.list && !(await mayRepeat(list, context))) return encodeBody(await read())
      const key = JSON.stringify([list.id, ...request.key])
      const kept = pages.get(workspaceId, key)
      if (kept) return new EncodedBody<Page>(kept)
      const whose = `${workspaceId}/${key}`
      const known = reading.get(whose) as Promise<EncodedBody<Page>> | undefined
      if (known) return known
      const body = write(workspaceId, key, read).finally(() => reading.delete(whose))
      reading.set(whose, body as Promise<EncodedBody<never>>)
      return body
    },
  }
}
