/**
 * Waits for all of them, also where one fails: whoever tries again meanwhile, or takes the work to be over, would have it done
 * twice at once.
 * @throws the first error of any, once all have ended
 */
export async function allEnded<T>(work: Iterable<Promise<T>>): Promise<T[]> {
  const ends = await Promise.allSettled(work)
  return ends.map((end) => {
    if (end.status === 'rejected') throw end.reason
    return end.value
  })
}
