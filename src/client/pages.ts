/** The pages of a list to its end, from the cursor of the query on. No more than one is held at a time. */
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

/** The items of a list to its end, 100 a page unless the query says otherwise. */
export async function* paginate<T, Q extends object>(
  list: (call: {
    query: Q & { cursor?: string; limit?: number }
  }) => Promise<{ items: T[]; nextCursor: string | null }>,
  query: Q,
): AsyncGenerator<T> {
  for await (const page of eachPage(list, { limit: 100, ...query })) yield* page.items
}
