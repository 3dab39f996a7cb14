/**
 * The time, in milliseconds, that a request or job uses the thread before it lets other work run. Each statement of a
 * transaction waits for the thread, so longer slices also hold SQLite's only writer longer (decisions/0003).
 */
const SLICE_MS = 1

/** Maps items in order. After every millisecond, lets the thread do other work. */
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
 * Lets other due work run first. Only one waiting task resumes in each round of the event loop, so that ten heavy
 * requests do not delay a light request ten times as long as one heavy request.
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
