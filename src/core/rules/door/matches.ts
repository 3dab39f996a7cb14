import type { SnapshotItem } from '../../contract/scanner.ts'
import type { Attempt, Candidate } from './outcome.ts'

/** The passes that an attempt names in a list. */
export interface Matches {
  items: readonly SnapshotItem[]
  /** The code is one that the pass carried once and carries no more. */
  isStale: boolean
}

/**
 * The passes that an attempt names, of those that a list has for it. The id decides where both are given; what its pass
 * carried once is stale all the same.
 * @param found by id where the attempt has one, else those that carry the digest of its payload, or carried it once
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

/** Entries whose name or external id holds a text, those called exactly so first; at most so many. */
export function searchByName<T extends Pick<SnapshotItem, 'label' | 'externalPassId'>>(
  items: Iterable<T>,
  text: string,
  limit: number,
): T[] {
  const wanted = text.toLowerCase()
  const exact: T[] = []
  const found: T[] = []
  for (const item of items) {
    const names = [item.label.toLowerCase(), item.externalPassId.toLowerCase()]
    if (names.includes(wanted)) exact.push(item)
    else if (found.length < limit && names.some((name) => name.includes(wanted))) found.push(item)
  }
  return [...exact, ...found].slice(0, limit)
}

/** A pass of a list, as one of several to choose from. */
export function candidateOfItem(item: Omit<Candidate, 'standing'> & Pick<SnapshotItem, 'status'>): Candidate {
  const { passId, label, externalPassId, templateName, status } = item
  return { passId, label, externalPassId, templateName, standing: status === 'ISSUED' ? '' : status.toLowerCase() }
}
