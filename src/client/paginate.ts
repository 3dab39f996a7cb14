interface AnyPage {
  nextCursor: string | null
}

interface PageOf<T> extends AnyPage {
  items: T[]
}

interface PageQuery {
  cursor?: string | undefined
  limit?: string | number | undefined
}

type Value = string | number | boolean | undefined

/** A query whose values keep their literal types, such as `{ status: 'ISSUED' }`. */
type LiteralQuery = PageQuery & Record<string, Value | Value[]>

/**
 * Yields the pages of a list, from the cursor of the query to the end of the list. Holds one page in memory at a time.
 * @param list a method of the client, or a function that calls such a method with its argument
 */
export function eachPage<const Q extends LiteralQuery, P extends AnyPage>(
  list: (call: { query: Q }) => Promise<P>,
  query: Q,
): AsyncGenerator<P>
// TypeScript reports the error of the last overload. In this overload, only `list` determines the type of the query, so
// that the error names the invalid filter.
export function eachPage<Q extends PageQuery, P extends AnyPage>(
  list: (call: { query?: Q }) => Promise<P>,
  query: NoInfer<Q>,
): AsyncGenerator<P>
export async function* eachPage<Q extends PageQuery, P extends AnyPage>(
  list: (call: { query: Q }) => Promise<P>,
  query: Q,
): AsyncGenerator<P> {
  let next: Q | undefined = query
  while (next) {
    const page: P = await list({ query: next })
    yield page
    next = page.nextCursor === null ? undefined : { ...query, cursor: page.nextCursor }
  }
}

/**
 * Yields the items of a list to the end of the list. Requests pages of 100 items unless the query has a limit.
 * @param list a method of the client, or a function that calls such a method with its argument
 */
export function paginate<const Q extends LiteralQuery, T>(
  list: (call: { query: Q }) => Promise<PageOf<T>>,
  query: Q,
): AsyncGenerator<T>
export function paginate<Q extends PageQuery, T>(
  list: (call: { query?: Q }) => Promise<PageOf<T>>,
  query: NoInfer<Q>,
): AsyncGenerator<T>
export async function* paginate<Q extends PageQuery, T>(
  list: (call: { query: Q }) => Promise<PageOf<T>>,
  query: Q,
): AsyncGenerator<T> {
  const call = list as (call: { query?: Q }) => Promise<PageOf<T>>
  for await (const page of eachPage(call, { limit: 100, ...query })) yield* page.items
}
