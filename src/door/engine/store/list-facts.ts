import type { SnapshotItem } from '../../../core/contract/scans/scanner.ts'
import { MAX_GROUP_AT_DOOR } from '../../../core/rules/door/group-at-door.ts'
import { type Matches, matchesOf } from '../../../core/rules/door/matches.ts'
import type { Attempt } from '../../../core/rules/door/outcome.ts'
import { acceptedScans, countUnsentUses } from '../../../core/rules/door/own-scans.ts'
import { presenceAtDoor, type ZoneAtDoor } from '../../../core/rules/door/presence-at-door.ts'
import type { JournalEntry, ListHead, Meta, OwnFacts, ScannedCode, Slot, Transaction } from './engine-store.ts'
import { zonesOf } from './zone-rows.ts'

/**
 * Returns the passes of the stored list that match an attempt. An attempt with a pass ID matches only that pass. Other
 * attempts match the passes whose current or former code is the payload. If no pass matches, the messages that the
 * scanner may have altered to this payload are tried.
 */
export async function matching(
  tx: Transaction,
  slot: Slot,
  { attempt, code }: { attempt: Attempt; code: ScannedCode | null },
): Promise<Matches> {
  if (attempt.passId !== null || code === null) {
    const items = attempt.passId === null ? [] : [(await tx.get(slot, attempt.passId)) ?? []].flat()
    return matchesOf(attempt, items, code?.digest ?? null)
  }
  const exact = await withIdentifier(tx, slot, code.digest)
  if (exact.length > 0) return matchesOf(attempt, exact, code.digest)
  for (const { format, digest } of code.others) {
    const items = (await withIdentifier(tx, slot, digest)).filter(({ barcodeFormat }) => barcodeFormat === format)
    if (items.length > 0) return matchesOf(attempt, items, digest)
  }
  return matchesOf(attempt, [], code.digest)
}

async function withIdentifier(tx: Transaction, slot: Slot, digest: string): Promise<SnapshotItem[]> {
  const indexes = ['identifiers', 'staleIdentifiers'] as const
  const found = await Promise.all(indexes.map((index) => tx.find(slot, index, digest)))
  return [...new Map(found.flat().map((item) => [item.passId, item])).values()]
}

export async function factsOf(tx: Transaction, list: Meta['list'], matches: Matches): Promise<OwnFacts> {
  const [pass] = matches.items.length === 1 ? matches.items : []
  const { groupId } = pass ?? {}
  const members = groupId === undefined ? [] : await tx.find(list.slot, 'groupId', groupId, MAX_GROUP_AT_DOOR + 1)
  const passIds = [...new Set([...(pass ? [pass] : []), ...members].map(({ passId }) => passId))]
  const entries = new Map(
    await Promise.all(passIds.map(async (passId) => [passId, await tx.find('journal', 'passId', passId)] as const)),
  )
  return ownFacts({ ...list, zones: await zonesOf(tx) }, { matches, members }, (passId) => entries.get(passId) ?? [])
}

/**
 * Builds the facts that the rules need about an attempt, from a stored list and the journal.
 * @param entriesOf returns the journal entries of a matching pass or a member of its group
 */
export function ownFacts(
  { id, generatedAt, zones }: ListHead & Pick<OwnFacts, 'zones'>,
  { matches, members }: { matches: Matches; members: readonly SnapshotItem[] },
  entriesOf: (passId: string) => readonly JournalEntry[],
): OwnFacts {
  const scansOf = ({ passId }: SnapshotItem) => {
    const entries = entriesOf(passId)
    return {
      own: entries.filter(({ kind }) => kind === 'accepted'),
      reversed: entries.filter(({ kind }) => kind === 'reversed'),
    }
  }
  return {
    snapshotId: id,
    matches,
    members,
    zones,
    acceptedScansOf: (item) => acceptedScans({ listed: item.acceptedScans, generatedAt }, scansOf(item)),
    unsentUsesOf(item) {
      const { own, reversed } = scansOf(item)
      return countUnsentUses(own, reversed)
    },
    presenceIn({ zoneId, direction }, at) {
      const zone = zones.find((known) => known.id === zoneId) ?? unlisted(zoneId)
      return (item) => presenceAtDoor(item, zone, scansOf(item), { direction, at })
    },
  }
}

/** Returns the default for a zone that the stored list does not contain yet: empty, and without a capacity. */
function unlisted(id: string): ZoneAtDoor {
  return { id, capacity: null, whenFull: 'warn', inside: 0, resetAt: null }
}
