import type { DoorGroup } from '../../contract/schemas/scan-shapes.ts'
import type { PassStatus } from '../pass/pass-status.ts'

/** The maximum number of group members that a scan evaluates. */
export const MAX_GROUP_AT_DOOR = 100
const MAX_OPEN = 20

export interface GroupMember {
  passId: string
  externalPassId: string
  label: string
  status: PassStatus
  /** Whether the pass was admitted in the scan context of the attempt. */
  isUsed: boolean
}

/** @param members ordered by ID, at most one more than a door evaluates */
export function groupAtDoor(members: GroupMember[], scannedPassId: string): DoorGroup {
  const counted = members.slice(0, MAX_GROUP_AT_DOOR).filter(({ status, isUsed }) => isUsed || status !== 'VOID')
  const open = counted.filter(({ passId, status, isUsed }) => {
    return !isUsed && status !== 'EXPIRED' && passId !== scannedPassId
  })
  return {
    size: counted.length,
    used: counted.filter(({ isUsed }) => isUsed).length,
    open: open.slice(0, MAX_OPEN).map(({ passId, externalPassId, label }) => ({ passId, externalPassId, label })),
    ...(members.length > MAX_GROUP_AT_DOOR && { hasMore: true }),
  }
}
