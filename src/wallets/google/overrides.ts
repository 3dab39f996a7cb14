import type { GoogleResource } from './resource.ts'

/** Keys that identify a resource or say whether it is valid; no definition may forge them. */
const reserved = new Set(['id', 'classId', 'state'])

/** The resource with the definition's own keys merged over it: objects key by key, anything else as a whole. */
export function applyOverrides(resource: GoogleResource, overrides: Record<string, unknown> = {}): GoogleResource {
  const allowed = Object.fromEntries(Object.entries(overrides).filter(([key]) => !reserved.has(key)))
  return { ...merge(resource, allowed), id: resource.id }
}

function merge(base: Record<string, unknown>, overrides: Record<string, unknown>): Record<string, unknown> {
  const merged = new Map(Object.entries(base))
  for (const [key, value] of Object.entries(overrides)) {
    // JSON can name this key as any other; spread or assigned later, it would replace a prototype.
    if (key === '__proto__') continue
    const current = merged.get(key)
    merged.set(key, isRecord(value) ? merge(isRecord(current) ? current : {}, value) : value)
  }
  return Object.fromEntries(merged)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
