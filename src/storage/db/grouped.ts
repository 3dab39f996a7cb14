import { isUnavailable } from './database-errors.ts'

/** The maximum number of items in a group. Larger groups would delay other writers. */
const MAX_TOGETHER = 128

/** The maximum number of deferrable items in a group. Keeps groups small, so that urgent items do not wait long. */
const MAX_OTHERS = 32

/**
 * Processes the items of a group together and returns a result for each, in order. The function should call `take` as
 * late as possible, so that more items can join the group.
 */
export type GroupWork<Scope, Item, Result> = (scope: Scope, take: () => Item[]) => Promise<Result[]>

interface Waiting<Item, Result> {
  item: Item
  /** Whether to process the item separately, because a group with it failed. */
  isSeparate: boolean
  resolve(result: Result): void
  reject(error: unknown): void
}

interface Order<Item> {
  /** The key of an item, if any. Items with the same key are processed in the order of their arrival. */
  keyOf: (item: Item) => string | undefined
  /** The maximum number of items with the same key in a group. The work processes them in order. */
  mostOfKey: number
  /** Whether an item can be deferred: MAX_OTHERS limits such items, except those with the key of an urgent item. */
  canWait: (item: Item) => boolean
}

/**
 * Groups concurrent calls, so that they share statements and a commit. Without a group in progress, a call begins
 * immediately. Calls that arrive while a group is processed form the next group. If a group fails, its items are
 * processed one by one, so that each item gets its own error. If the database is unavailable, all items get the same
 * error.
 * @param order by default, each item has its own key and none can be deferred
 * @returns a function that processes one item together with others of the same scope
 */
export function grouped<Scope extends object, Item, Result>(
  work: GroupWork<Scope, Item, Result>,
  { keyOf = () => undefined, mostOfKey = 1, canWait = () => false }: Partial<Order<Item>> = {},
): (scope: Scope, item: Item) => Promise<Result> {
  const order = { keyOf, mostOfKey, canWait }
  const queues = new WeakMap<Scope, Waiting<Item, Result>[]>()

  async function drain(scope: Scope, queue: Waiting<Item, Result>[]): Promise<void> {
    while (queue.length > 0) await doNext(scope, queue)
    queues.delete(scope)
  }

  async function doNext(scope: Scope, queue: Waiting<Item, Result>[]): Promise<void> {
    const present = queue.length
    let taken: Waiting<Item, Result>[] | undefined
    try {
      const results = await work(scope, () => {
        taken = takeSet(queue, order)
        return taken.map(({ item }) => item)
      })
      for (const [n, { resolve }] of taken!.entries()) resolve(results[n]!)
    } catch (error) {
      // If `take` was not called, the work failed while it waited for its turn. Reject only the items that were queued
      // when the work began, so that newer items do not fail without an attempt.
      const failed = taken ?? queue.splice(0, present)
      const isTheirs = taken !== undefined && failed.length > 1 && !isUnavailable(error)
      if (isTheirs) queue.unshift(...failed.map((waiting) => ({ ...waiting, isSeparate: true })))
      else for (const { reject } of failed) reject(error)
    }
  }

  return (scope, item) =>
    new Promise((resolve, reject) => {
      const waiting = { item, isSeparate: false, resolve, reject }
      const queue = queues.get(scope)
      if (queue) {
        queue.push(waiting)
        return
      }
      const first = [waiting]
      queues.set(scope, first)
      void drain(scope, first)
    })
}

/** Takes the next group from the queue. The remaining items keep their order. */
function takeSet<Item, Result>(
  queue: Waiting<Item, Result>[],
  { keyOf, mostOfKey, canWait }: Order<Item>,
): Waiting<Item, Result>[] {
  if (queue[0]?.isSeparate) return queue.splice(0, 1)
  const isUrgent = queue.map(({ item }) => !canWait(item))
  // Items with the same key keep their order, so an urgent item makes all items with its key urgent.
  const urgentKeys = new Set(queue.flatMap(({ item }, n) => (isUrgent[n] ? (keyOf(item) ?? []) : [])))
  const room = { urgent: MAX_TOGETHER, deferrable: MAX_OTHERS }
  const roomOf = new Map<string, number>()
  const taken: Waiting<Item, Result>[] = []
  const left: Waiting<Item, Result>[] = []
  for (const [n, waiting] of queue.entries()) {
    const key = keyOf(waiting.item)
    const kind = isUrgent[n] || (key !== undefined && urgentKeys.has(key)) ? 'urgent' : 'deferrable'
    const ofKey = key === undefined ? 1 : (roomOf.get(key) ?? mostOfKey)
    const fits = room[kind] > 0 && !waiting.isSeparate && ofKey > 0
    if (key !== undefined) roomOf.set(key, fits ? ofKey - 1 : 0)
    if (fits) {
      room[kind] -= 1
      taken.push(waiting)
    } else left.push(waiting)
  }
  queue.splice(0, queue.length, ...left)
  return taken
}
