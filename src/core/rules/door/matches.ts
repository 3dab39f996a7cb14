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

/**
 * Entries whose name or external id holds a text, those called exactly so first; at most so many. Without regard to case and
 * to marks over letters: who is called Wójcik is found by "wojcik", typed in a hurry or on a keyboard that has no ó.
 */
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

/** A pass of a list, as one of several to choose from. */
export function candidateOfItem(item: Omit<Candidate, 'standing'> & Pick<SnapshotItem, 'status'>): Candidate {
  const { passId, label, externalPassId, templateName, status } = item
  return { passId, label, externalPassId, templateName, standing: status === 'ISSUED' ? '' : status.toLowerCase() }
}
