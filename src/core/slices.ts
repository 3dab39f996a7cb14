/** The time, in milliseconds, after which the work of one request or job yields the thread. */
const SLICE_MS = 3

/** Maps each item in order. After each slice of a few milliseconds, lets the thread do other work. */
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
    await nextSlice()
    began = performance.now()
  }
  return results
}

const waiting: (() => void)[] = []

/**
 * Waits until other due work is done. Only one waiting task resumes per round of the event loop, so that ten heavy
 * requests delay a light request no longer than one heavy request does.
 */
function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(resumeFirst)
  })
}

function resumeFirst(): void {
  waiting[0]!()
  waiting.shift()
  if (waiting.length > 0) setImmediate(resumeFirst)
}
