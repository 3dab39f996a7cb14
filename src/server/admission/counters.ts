/** Creates counters by key. A key whose count returns to 0 is removed, and uses no memory. */
export function createCounters() {
  const counts = new Map<string, number>()
  let total = 0
  return {
    keys: () => [...counts.keys()],
    of: (key: string) => counts.get(key) ?? 0,
    total: () => total,
    add(key: string, change: number): void {
      total += change
      const count = (counts.get(key) ?? 0) + change
      if (count > 0) counts.set(key, count)
      else counts.delete(key)
    },
  }
}
