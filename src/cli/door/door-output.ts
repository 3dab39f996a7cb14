import type { Door } from '../../core/contract/scans/doors.ts'
import { details, localTime, localTimeOr } from '../command/output.ts'
import type { ListShape } from '../list/shape.ts'

export const doorsShape: ListShape<Door> = {
  columns: [
    { name: 'id', kind: 'id' },
    ['name', 'gate'],
    { name: 'project', value: ({ projectName }) => projectName, none: 'deleted' },
    ['projectId'],
    { name: 'lastSeenAt', kind: 'time', title: 'last seen', none: 'never' },
    { name: 'pendingScans', title: 'pending' },
    ['version'],
    { name: 'createdAt', kind: 'time', title: 'claimed' },
    ['expiresAt', 'revokedAt'],
    { name: 'zoneId', value: ({ zoneId }) => zoneId ?? null, title: 'zone' },
    { name: 'direction', value: ({ direction }) => direction ?? null },
  ],
  table: ['id', 'name', 'gate', 'lastSeenAt', 'pendingScans', 'revokedAt'],
  wide: ['id', 'name', 'gate', 'project', 'lastSeenAt', 'pendingScans', 'version', 'expiresAt', 'revokedAt'],
}

export function showDoor(door: Door): string {
  return details([
    ['Door', door.id],
    ['Name', door.name],
    ['Gate', door.gate],
    ['Zone', door.zoneId ?? null],
    ['Direction', door.direction ?? null],
    ['Project', door.projectName ?? `${door.projectId} (deleted)`],
    ['Claimed', localTime(door.createdAt)],
    ['Expires', localTime(door.expiresAt)],
    ['Last seen', localTimeOr(door.lastSeenAt, 'never')],
    ['Version', door.version],
    ['Pending scans', door.pendingScans],
    ['Revoked', localTimeOr(door.revokedAt, null)],
  ])
}

/**
 * Returns the reason why phones cannot open a link or cannot use the camera on its page; `undefined` if its address
 * allows both.
 */
export function phoneWarning(link: string): string | undefined {
  const { protocol, hostname, origin } = new URL(link)
  const setting = 'Start the server with an https address that phones reach: --public-url or PASSES_PUBLIC_URL.'
  if (/^(localhost|.+\.localhost|127\..+|0\.0\.0\.0|\[::1?\])$/.test(hostname)) {
    return `No phone can open ${origin}: only the machine of the server reaches this address. ${setting}`
  }
  if (protocol !== 'https:') return `Browsers give the camera to https pages only, and ${origin} is not one. ${setting}`
  return undefined
}
