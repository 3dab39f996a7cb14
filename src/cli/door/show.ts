import type { Door } from '../../core/contract/doors.ts'
import { details, localTime, localTimeOr } from '../command/output.ts'
import type { ListShape } from '../list/shape.ts'

/** What lists of doors show. */
export const doorsShape: ListShape<Door> = {
  columns: [
    { name: 'id', value: ({ id }) => id, kind: 'id' },
    { name: 'name', value: ({ name }) => name },
    { name: 'gate', value: ({ gate }) => gate },
    { name: 'project', value: ({ projectName }) => projectName, none: 'deleted' },
    { name: 'projectId', value: ({ projectId }) => projectId },
    { name: 'lastSeenAt', value: ({ lastSeenAt }) => lastSeenAt, kind: 'time', title: 'last seen', none: 'never' },
    { name: 'pendingScans', value: ({ pendingScans }) => pendingScans, title: 'pending' },
    { name: 'version', value: ({ version }) => version },
    { name: 'createdAt', value: ({ createdAt }) => createdAt, kind: 'time', title: 'claimed' },
    { name: 'expiresAt', value: ({ expiresAt }) => expiresAt, kind: 'time', title: 'expires' },
    { name: 'revokedAt', value: ({ revokedAt }) => revokedAt, kind: 'time', title: 'revoked' },
  ],
  table: ['id', 'name', 'gate', 'lastSeenAt', 'pendingScans', 'revokedAt'],
  wide: ['id', 'name', 'gate', 'project', 'lastSeenAt', 'pendingScans', 'version', 'expiresAt', 'revokedAt'],
}

/** A door, for people. */
export function showDoor(door: Door): string {
  return details([
    ['Door', door.id],
    ['Name', door.name],
    ['Gate', door.gate],
    ['Project', door.projectName ?? `${door.projectId} (deleted)`],
    ['Claimed', localTime(door.createdAt)],
    ['Expires', localTime(door.expiresAt)],
    ['Last seen', localTimeOr(door.lastSeenAt, 'never')],
    ['Version', door.version],
    ['Pending scans', door.pendingScans],
    ['Revoked', localTimeOr(door.revokedAt, null)],
  ])
}
