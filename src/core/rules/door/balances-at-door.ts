import type { SnapshotItem } from '../../contract/scans/scanner.ts'
import type { DoorView } from '../../contract/schemas/scan-shapes.ts'
import { coveredPart } from '../balances/balances.ts'
import { balanceField, type DoorLanguage } from '../redemption/scan-message.ts'

type ListedBalance = NonNullable<SnapshotItem['balances']>[number]

export interface BalanceAtDoor {
  /** The value in the snapshot, plus the changes by later scans of the door. */
  value: number
  /** The change of the value if the next scan is accepted. */
  delta: number
  /** Whether the next scan would debit more than the balance covers, or more than the offline allowance. */
  isUncovered: boolean
  listed: ListedBalance
}

export interface UsesAtDoor {
  /** The number of uses by the door after the snapshot, minus the uses in the snapshot that the door reversed. */
  sinceList: number
  unsent: number
}

/**
 * Returns the balances of a pass at an offline door. Until it uploads its scans, a door can debit at most the offline
 * allowance, because other doors can debit the same pass. A door can always add to a balance.
 */
export function balancesAtDoor(
  { balances = [] }: Pick<SnapshotItem, 'balances'>,
  { sinceList, unsent }: UsesAtDoor,
): BalanceAtDoor[] {
  return balances.map((listed) => {
    const bounds = { min: listed.min, max: listed.max ?? undefined }
    const value = listed.value + coveredPart(bounds, listed.value, sinceList * listed.delta)
    const delta = coveredPart(bounds, value, listed.delta)
    const debited = -listed.delta * (unsent + 1)
    return { value, delta, isUncovered: delta > listed.delta || debited > listed.offlineAllowance, listed }
  })
}

export function withBalances(
  door: DoorView | undefined,
  balances: readonly BalanceAtDoor[],
  { isDebited, language }: { isDebited: boolean; language: DoorLanguage | undefined },
): DoorView | undefined {
  return withFields(
    door,
    balances.map(({ listed, value, delta }) => balanceField(listed, isDebited ? value + delta : value, language)),
  )
}

/** Returns a door view with fields added at the end. */
export function withFields(door: DoorView | undefined, fields: DoorView['fields']): DoorView | undefined {
  if (fields.length === 0) return door
  return { fields: [...(door?.fields ?? []), ...fields], notice: door?.notice ?? null }
}
