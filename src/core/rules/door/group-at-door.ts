import type { DoorGroup } from '../../contract/schemas/scan-shapes.ts'
import type { PassStatus } from '../pass/pass-status.ts'
import type { Direction } from '../zones/presence.ts'

/** The maximum number of members of a group that are counted during a scan. */
export const MAX_GROUP_AT_DOOR = 100
/** The maximum number of passes in each of the lists `open` and `inside` of a group. */
export const MAX_GROUP_SHOWN = 20
const UNUSABLE: PassStatus[] = ['EXPIRED', 'VOID']

export interface GroupMember {
  passId: string
  externalPassId: string
  label: string
  status: PassStatus
  /** Whether the pass was admitted in the scan context of the attempt. */
  isUsed: boolean
  /** The direction of the last movement of the pass in the zone; null without a movement, undefined without a zone. */
  side?: Direction | null | undefined
}

/** @param members the members of the group, ordered by ID: all, or the first MAX_GROUP_AT_DOOR + 1 */
export function groupAtDoor(members: GroupMember[], scannedPassId: string): DoorGroup {
  const isOutside = ({ isUsed, side }: GroupMember) => side === 'out' || (side !== 'in' && !isUsed)
  const counted = members.slice(0, MAX_GROUP_AT_DOOR).filter(({ status, isUsed }) => isUsed || status !== 'VOID')
  const open = counted.filter((member) => {
    return isOutside(member) && !UNUSABLE.includes(member.status) && member.passId !== scannedPassId
  })
  const hasZone = members.some(({ side }) => side !== undefined)
  return {
    size: counted.length,
    used: counted.filter(({ isUsed }) => isUsed).length,
    open: open.slice(0, MAX_GROUP_SHOWN).map(toGroupPass),
    ...(hasZone && {
      inside: counted
        .filter(({ side }) => side === 'in')
        .slice(0, MAX_GROUP_SHOWN)
        .map(toGroupPass),
    }),
    ...(members.length > MAX_GROUP_AT_DOOR && { hasMore: true }),
  }
}

function toGroupPass({ passId, externalPassId, label }: GroupMember) {
  return { passId, externalPassId, label }
}
