export type JsonObject = Record<string, unknown>

/**
 * The base with overrides over it: objects merge, anything else replaces. An object of the base is never replaced by
 * something that is none, null takes a key away, and texts come out well-formed.
 */
export function mergeOver(base: JsonObject, overrides: JsonObject): JsonObject {
  // Entries in a Map, so that a key such as __proto__ is data like any other.
  const merged = new Map(Object.entries(base))
  for (const [key, value] of Object.entries(overrides)) {
    const below = merged.get(key)
    if (isJsonObject(below)) {
      if (isJsonObject(value)) merged.set(key, mergeOver(below, value))
    } else if (value === null) merged.delete(key)
    else merged.set(key, wellFormed(value))
  }
  return Object.fromEntries(merged)
}

function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(wellFormed)
  return isJsonObject(value) ? mergeOver({}, value) : value
}

export function isJsonObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
