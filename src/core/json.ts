/** Returns `undefined` for invalid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns `false` for `null` and lists. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The keys and indexes that lead to a part of a JSON value. */
type Path = (string | number)[]

/** Returns the part of a value at a path, or `undefined` if the value has no such part. */
export function valueAt(value: unknown, path: Readonly<Path>): unknown {
  return path.reduce<unknown>((part, key) => (part as Record<string, unknown> | null | undefined)?.[key], value)
}

/** Returns a copy of a JSON value in which `change` has replaced each string, but no key. */
export function mapStrings(value: unknown, change: (text: string, path: Path) => unknown, path: Path = []): unknown {
  if (typeof value === 'string') return change(value, path)
  if (Array.isArray(value)) return value.map((item, index) => mapStrings(item, change, [...path, index]))
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).map(([key, item]) => [key, mapStrings(item, change, [...path, key])])
  return Object.fromEntries(entries)
}
