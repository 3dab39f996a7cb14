import { setImmediate } from 'node:timers/promises'

/** So long work of one request, or of one batch of jobs, keeps the thread from everybody else at a time. */
const SLICE_MS = 3

/** What comes of each item, in order. Between slices of a few milliseconds the thread does what else is waiting for it. */
export async function mapInSlices<Item, Result>(
  items: Iterable<Item>,
  map: (item: Item) => Result | Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  let began = performance.now()
  for (const item of items) {
    const result = map(item)
    results.push(result instanceof Promise ? await result : result)
    if (performance.now() - began < SLICE_MS) continue
    await setImmediate()
    began = performance.now()
  }
  return results
}
