import type { SnapshotItem } from '../../core/contract/scanner.ts'
import type { Matches } from '../../core/rules/door/matches.ts'
import { acceptedScans } from '../../core/rules/door/own-scans.ts'
import type { JournalEntry, ListHead, OwnFacts } from './store.ts'

/**
 * What a list and the journal say of an attempt, as the rules read it.
 * @param entriesOf the entries of the journal by pass, for all passes that are asked for
 */
export function ownFacts(
  { id, generatedAt }: ListHead,
  { matches, members }: { matches: Matches; members: readonly SnapshotItem[] },
  entriesOf: (passId: string) => readonly JournalEntry[],
): OwnFacts {
  return {
    snapshotId: id,
    matches,
    members,
    acceptedScansOf(item) {
      const entries = entriesOf(item.passId)
      const own = entries.filter(({ kind }) => kind === 'accepted')
      const reversed = entries.filter(({ kind }) => kind === 'reversed')
      return acceptedScans({ listed: item.acceptedScans, generatedAt }, { own, reversed })
    },
  }
}
