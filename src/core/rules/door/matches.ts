import type { SnapshotItem } from '../../contract/scanner.ts'
import type { Attempt, Candidate } from './outcome.ts'

export interface Matches {
  items: readonly SnapshotItem[]
  /** Whether the scanned code is a former identifier of the pass. */
  isStale: boolean
}

/**
 * Returns the passes that an attempt names. If it has both an ID and a payload, the ID decides, but a former identifier
 * still makes the match stale.
 * @param found the pass with the ID, if the attempt has one; else the passes with the payload as an active or former
 * identifier
 * @param digest of the payload, in hex; null without one
 */
export function matchesOf(
  { passId }: Pick<Attempt, 'passId'>,
  found: readonly SnapshotItem[],
  digest: string | null,
): Matches {
  const isActive = ({ identifiers }: SnapshotItem) => digest !== null && identifiers.includes(digest)
  const isStale = ({ staleIdentifiers }: SnapshotItem) => digest !== null && staleIdentifiers.includes(digest)
  if (passId !== null) return { items: found, isStale: found.some(isStale) }
  const active = found.filter(isActive)
  return active.length > 0 ? { items: active, isStale: false } : { items: found, isStale: true }
}

/** Returns at most `limit` passes by name or external ID, exact matches first, ignoring case and diacritics. */
export function searchByName<T extends Pick<SnapshotItem, 'label' | 'externalPassId'>>(
  items: Iterable<T>,
  text: string,
  limit: number,
): T[] {
  const wanted = foldMarks(text)
  const exact: T[] = []
  const found: T[] = []
  for (const item of items) {
    const names = [foldMarks(item.label), foldMarks(item.externalPassId)]
    if (names.includes(wanted)) exact.push(item)
    else if (found.length < limit && names.some((name) => name.includes(wanted))) found.push(item)
  }
  return [...exact, ...found].slice(0, limit)
}

function foldMarks(text: string): string {
  const plain = /^[\x20-\x7e]*$/.test(text) ? text : text.normalize('NFD').replaceAll(/\p{Mn}/gu, '')
  return plain.toLowerCase()
}

export function candidateOfItem(item: Omit<Candidate, 'standing'> & Pick<SnapshotItem, 'status'>): Candidate {
  const { passId, label, externalPassId, templateName, status } = item
  return { passId, label, externalPassId, templateName, standing: status === 'ISSUED' ? '' : status.toLowerCase() }
}
