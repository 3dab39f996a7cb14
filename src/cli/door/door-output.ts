import type { Door } from '../../core/contract/doors.ts'
import type { Modules } from '../card-picture.ts'
import { details, localTime, localTimeOr, localZone } from '../command/output.ts'
import type { ListShape } from '../list/shape.ts'

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
 * Returns why phones cannot open a link, or cannot scan with its page. Returns `undefined` if the address prevents
 * neither.
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

export interface Sheet {
  modules: Modules
  gate: string
  projectName: string
  expiresAt: string
}

const STEPS = [
  '1. Scan this code with the camera of your phone, and open the link.',
  '2. Give the phone a name, begin, and allow the camera.',
  '3. Start, and hold each ticket up to the camera: green admits.',
]

const WIDTH = 210
const HEIGHT = 297
const CODE = 130

/** Returns an invitation as an A4 page in SVG: gate, project, code, instructions, and the end in local time. */
export function invitationSheet({ modules, gate, projectName, expiresAt }: Sheet): string {
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
    ...STEPS.map((step, n) => text(226 + n * 9, 4.6, step)),
    text(268, 6, `Works until ${longLocalTime(expiresAt)}`),
    '</g>',
    `<svg x="${(WIDTH - CODE) / 2}" y="80" width="${CODE}" height="${CODE}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges">`,
    `<path d="${dark}"/>`,
    '</svg>',
    '</svg>',
    '',
  ].join('\n')
}

/** Formats a time for people who do not work with computers: Friday 27 November 2026 at 21:30 (Europe/Berlin). */
function longLocalTime(at: string): string {
  return `${new Date(at).toLocaleString('en-GB', { dateStyle: 'full', timeStyle: 'short' })} (${localZone()})`
}

/** Returns the font size that fits the width; an average letter is about 0.6 of the size wide. */
function fontToFit(words: string, size: number): number {
  return Math.min(size, Math.floor(((WIDTH - 20) / Math.max(1, words.length) / 0.6) * 10) / 10)
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/** Escapes text and removes characters that XML does not allow. */
function escapeXml(text: string): string {
  return text.replaceAll(/[\p{Cc}\uFFFE\uFFFF]/gu, '').replaceAll(/[&<>]/g, (char) => entities[char]!)
}
