import type { Door } from '../../core/contract/doors.ts'
import type { Modules } from '../card-picture.ts'
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

/** What a printed invitation says above and below its code. */
export interface Sheet {
  modules: Modules
  gate: string
  projectName: string
  /** Until when it works, in words. */
  until: string
}

const WIDTH = 210
const HEIGHT = 297
const CODE = 130

/** An invitation as a page of A4 to print, in SVG: gate, project, code, and until when it works. */
export function invitationSheet({ modules, gate, projectName, until }: Sheet): string {
  const size = modules.length
  const dark = modules.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
  const text = (y: number, fontSize: number, words: string) =>
    `<text x="${WIDTH / 2}" y="${y}" font-size="${fontToFit(words, fontSize)}">${escapeXml(words)}</text>`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}mm" height="${HEIGHT}mm" viewBox="0 0 ${WIDTH} ${HEIGHT}">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    '<g font-family="sans-serif" text-anchor="middle">',
    text(45, 24, gate),
    text(62, 10, projectName),
    text(235, 8, until),
    '</g>',
    `<svg x="${(WIDTH - CODE) / 2}" y="80" width="${CODE}" height="${CODE}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges">`,
    `<path d="${dark}"/>`,
    '</svg>',
    '</svg>',
    '',
  ].join('\n')
}

/** Of a usual typeface a letter is about 0.6 of its size wide. */
function fontToFit(words: string, size: number): number {
  return Math.min(size, Math.floor(((WIDTH - 20) / Math.max(1, words.length) / 0.6) * 10) / 10)
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/** Characters that XML has no place for are left out. */
function escapeXml(text: string): string {
  return text.replaceAll(/[\p{Cc}\uFFFE\uFFFF]/gu, '').replaceAll(/[&<>]/g, (char) => entities[char]!)
}
