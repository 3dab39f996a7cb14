/** Yields the pages of a list, from the cursor of the query to the end. Holds at most one page at a time. */
export async function* eachPage<P extends { nextCursor: string | null }, Q extends object>(
  list: (call: { query: Q & { cursor?: string } }) => Promise<P>,
  query: Q & { cursor?: string },
): AsyncGenerator<P> {
  let next: (Q & { cursor?: string }) | undefined = query
  while (next) {
    const page: P = await list({ query: next })
    yield page
    next = page.nextCursor === null ? undefined : { ...query, cursor: page.nextCursor }
  }
}

/** Yields the items of a list to its end, 100 per page unless the query has a limit. */
export async function* paginate<T, Q extends object>(
  list: (call: {
    query: Q & { cursor?: string; limit?: number }
  }) => Promise<{ items: T[]; nextCursor: string | null }>,
  query: Q,
): AsyncGenerator<T> {
  for await (const page of eachPage(list, { limit: 100, ...query })) yield* page.items
}
