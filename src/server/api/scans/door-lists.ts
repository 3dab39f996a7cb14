import type { StoredSnapshot } from '../../../storage/scans/snapshot-changes.ts'
import type { Store } from '../../../storage/store.ts'
import { createFairCache } from '../../fair-cache.ts'
import { EncodedBody, encodeBody } from '../../http/compress.ts'

/** Lists that the doors of a project share, so that what all of them need is read and written once (decisions/0010). */
export interface DoorLists {
  /** A list that was begun here not long ago. */
  find(workspaceId: string, id: string): StoredSnapshot | undefined
  /**
   * A page of the list that doors of the project are brought to, which is the same one for all that ask within 20 seconds.
   * It is read once for all who ask for it at the same moment, or soon after.
   */
  page<Page>(request: PageRequest<Page>, context: ListContext): Promise<EncodedBody<Page>>
}

interface PageRequest<Page> {
  projectId: string
  /** The list that is being read; undefined for a first page. */
  list: StoredSnapshot | undefined
  /** What tells it from other pages that lead to the list. */
  key: readonly unknown[]
  begin: () => Promise<StoredSnapshot>
  read: (list: StoredSnapshot) => Promise<Page>
}

interface ListContext {
  store: Pick<Store, 'snapshots'>
  workspaceId: string
  now: Date
}

/** Longer than doors wait between two refreshes, so that each goes from one shared list to the next. */
const CURRENT_MS = 20_000
/** Until whoever began with a list has read it whole. */
const KEPT_MS = 2 * CURRENT_MS
/** Of all workspaces, compressed: four lists of 100,000 passes. */
const MAX_BYTES = 32 * 1024 * 1024
/** Lists of before, by which doors say what they have. */
const MAX_LISTS = 10_000

/** Keeps the lists of doors, and their pages, for a short time: see DoorLists. */
export function createDoorLists(): DoorLists {
  const lists = new Map<string, StoredSnapshot>()
  /** By project: the list that its doors are brought to. */
  const current = new Map<string, Promise<StoredSnapshot>>()
  const pages = createFairCache<Buffer>(MAX_BYTES, ({ length }) => length)
  const reading = new Map<string, Promise<EncodedBody<never>>>()

  /** Nothing of an erased pass is given out again, nor the name that a template had. */
  const mayRepeat = (list: StoredSnapshot, { store, workspaceId }: ListContext) =>
    store.snapshots.mayRepeat(workspaceId, list)

  const isOfNow = ({ madeAt }: StoredSnapshot, { now }: ListContext) =>
    // Of another request that came a little later it lies ahead.
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

  /** One that pages may be shared of, for a first page. */
  async function currentList(request: PageRequest<unknown>, context: ListContext): Promise<StoredSnapshot> {
    const place = `${context.workspaceId}/${request.projectId}`
    const known = current.get(place)
    if (known) {
      const list = await known
      if (isOfNow(list, context) && (await mayRepeat(list, context))) return list
      // Another request may have begun one meanwhile.
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
