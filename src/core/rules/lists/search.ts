import { createHash } from 'node:crypto'
import type { Variables } from '../template/variables.ts'

/**
 * Returns the case-insensitive form of a text, which substring filters compare. It is the same on every database.
 * Converts to upper case first, because ß and SS would otherwise differ. Also converts a final sigma (ς) to σ.
 */
export function foldCase(text: string): string {
  return text.normalize('NFC').toUpperCase().toLowerCase().replaceAll('ς', 'σ')
}

const MAX_INDEXED = 128

/** Returns the form of a text in an index. Long texts are indexed by digest, since searches only match equal texts. */
export function indexedText(text: string): string {
  const trimmed = text.trim()
  if (trimmed.length <= MAX_INDEXED && !/[\0\p{Surrogate}]/u.test(trimmed)) return trimmed
  return `sha256:${createHash('sha256').update(trimmed).digest('base64url')}`
}

/** Returns the index entries for the filter `variable=key:value`. A value that is not a string is indexed as JSON. */
export function indexedVariables(variables: Variables): { name: string; value: string }[] {
  const pairs = new Map<string, string>()
  for (const [name, value] of Object.entries(variables)) {
    pairs.set(indexedText(name), indexedText(typeof value === 'string' ? value : JSON.stringify(value)))
  }
  return [...pairs].map(([name, value]) => ({ name, value }))
}

/**
 * Returns the form in which column names of files are compared: in lower case, without spaces, underscores, or hyphens.
 * Two columns with the same loose name are ambiguous.
 */
export function looseName(name: string): string {
  return name.toLowerCase().replaceAll(/[\s_-]/g, '')
}
