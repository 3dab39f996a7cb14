/**
 * Waits for every promise to settle, even if one rejects, so that a caller cannot retry work that is still running.
 * @throws the error of the first promise in `work` that was rejected, after all promises have settled
 */
export async function allEnded<T>(work: Iterable<Promise<T>>): Promise<T[]> {
  const ends = await Promise.allSettled(work)
  return ends.map((end) => {
    if (end.status === 'rejected') throw end.reason
    return end.value
  })
}
