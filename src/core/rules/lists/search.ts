import { createHash } from 'node:crypto'
import type { Variables } from '../template/variables.ts'

/**
 * Text as substring filters compare it: without regard to case, the same on every database. Upper case first, since
 * lower case alone keeps ß from SS; and sigma is one letter, whether or not it ends a word.
 */
export function foldCase(text: string): string {
  return text.normalize('NFC').toUpperCase().toLowerCase().replaceAll('ς', 'σ')
}

const MAX_INDEXED = 128

/** Long names and values stand in the index by their digest: it only answers whether two are the same. */
export function indexedText(text: string): string {
  const trimmed = text.trim()
  if (trimmed.length <= MAX_INDEXED && !/[\0\p{Surrogate}]/u.test(trimmed)) return trimmed
  return `sha256:${createHash('sha256').update(trimmed).digest('base64url')}`
}

/** The pairs that `variable=key:value` finds a pass by; what is no string is compared as JSON. */
export function indexedVariables(variables: Variables): { name: string; value: string }[] {
  const pairs = new Map<string, string>()
  for (const [name, value] of Object.entries(variables)) {
    pairs.set(indexedText(name), indexedText(typeof value === 'string' ? value : JSON.stringify(value)))
  }
  return [...pairs].map(([name, value]) => ({ name, value }))
}
