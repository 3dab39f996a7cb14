/** Waits for all promises, so that no caller retries work that is still running. @throws the first error, after that */
export async function allEnded<T>(work: Iterable<Promise<T>>): Promise<T[]> {
  const ends = await Promise.allSettled(work)
  return ends.map((end) => {
    if (end.status === 'rejected') throw end.reason
    return end.value
  })
}
