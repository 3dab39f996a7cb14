import { isUnavailable } from './dialect.ts'

/** So many are done together at most: more would make others wait for too long. */
const MAX_TOGETHER = 128

/** And beside them so many of those that can wait: a set is over soon, since one that cannot may come meanwhile. */
const MAX_PATIENT = 32

/**
 * Does the items of a set in one go and returns a result for each, in order. It takes the items when it is about to read
 * them, as late as it can: what came meanwhile is done with the rest.
 */
export type GroupWork<Scope, Item, Result> = (scope: Scope, take: () => Item[]) => Promise<Result[]>

interface Waiting<Item, Result> {
  item: Item
  /** It failed together with others: one of them may be to blame. */
  isAlone: boolean
  resolve(result: Result): void
  reject(error: unknown): void
}

/** What belongs into one set, and what goes first. */
interface Order<Item> {
  /** Items of one key are done in the order in which they came. */
  keyOf: (item: Item) => string | undefined
  /** So many of one key are in a set at most; the work does them one after the other. */
  mostOfKey: number
  /** Whether nobody stands and waits for it: those that somebody waits for go before it, but for one of its key. */
  canWait: (item: Item) => boolean
}

/**
 * Lets those that ask for the same work at the same moment share its statements and its commit. Nobody waits for company:
 * one that comes alone begins at once, and what comes while a set is being done is the next set. A set that fails is done
 * again one by one, so that each answers for itself, unless it is the database that failed.
 * @param order by default each item is of its own, and none can wait
 * @returns does one item, with others of the same scope
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
      // What did not get as far as to be taken has waited for its turn in vain; who came since may still get it.
      const failed = taken ?? queue.splice(0, present)
      const isTheirs = taken !== undefined && failed.length > 1 && !isUnavailable(error)
      if (isTheirs) queue.unshift(...failed.map((waiting) => ({ ...waiting, isAlone: true })))
      else for (const { reject } of failed) reject(error)
    }
  }

  return (scope, item) =>
    new Promise((resolve, reject) => {
      const waiting = { item, isAlone: false, resolve, reject }
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

/** Takes the next set out of the queue; what stays behind keeps its order. */
function takeSet<Item, Result>(
  queue: Waiting<Item, Result>[],
  { keyOf, mostOfKey, canWait }: Order<Item>,
): Waiting<Item, Result>[] {
  if (queue[0]?.isAlone) return queue.splice(0, 1)
  const isHurried = queue.map(({ item }) => !canWait(item))
  // What somebody waits for comes after all others of its key that are before it.
  const hurriedKeys = new Set(queue.flatMap(({ item }, n) => (isHurried[n] ? (keyOf(item) ?? []) : [])))
  const room = { hurried: MAX_TOGETHER, patient: MAX_PATIENT }
  const roomOf = new Map<string, number>()
  const taken: Waiting<Item, Result>[] = []
  const left: Waiting<Item, Result>[] = []
  for (const [n, waiting] of queue.entries()) {
    const key = keyOf(waiting.item)
    const kind = isHurried[n] || (key !== undefined && hurriedKeys.has(key)) ? 'hurried' : 'patient'
    const ofKey = key === undefined ? 1 : (roomOf.get(key) ?? mostOfKey)
    const mayCome = room[kind] > 0 && !waiting.isAlone && ofKey > 0
    if (key !== undefined) roomOf.set(key, mayCome ? ofKey - 1 : 0)
    if (mayCome) {
      room[kind] -= 1
      taken.push(waiting)
    } else left.push(waiting)
  }
  queue.splice(0, queue.length, ...left)
  return taken
}
