/** Groups are in the order of their first items. (`Map.groupBy` requires Node 21.) */
export function groupBy<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}

/** Splits a list into consecutive parts. Each part has items of at most `most` different keys. */
export function runsOf<Item>(items: Iterable<Item>, keyOf: (item: Item) => unknown, most: number): Item[][] {
  const runs: Item[][] = []
  let keys = new Set<unknown>()
  for (const item of items) {
    const key = keyOf(item)
    if (runs.length === 0 || (keys.size === most && !keys.has(key))) {
      runs.push([])
      keys = new Set()
    }
    keys.add(key)
    runs.at(-1)!.push(item)
  }
  return runs
}
