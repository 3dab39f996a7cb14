import type { SnapshotItem } from '../../contract/scans/scanner.ts'
import type { Attempt, Candidate } from './outcome.ts'

export interface Matches {
  items: readonly SnapshotItem[]
  isStale: boolean
}

/**
 * Returns the passes that match an attempt. If the attempt has a pass ID, this ID determines the pass. The match is
 * stale if the payload is a former identifier of the pass.
 * @param found the pass with the pass ID of the attempt or, without a pass ID, the passes with the payload as an active
 * or former identifier
 * @param digest the SHA-256 of the payload, in hex; null without a payload
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

/** Searches by name or external ID, ignoring case and diacritics. Returns at most `limit`, exact matches first. */
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
