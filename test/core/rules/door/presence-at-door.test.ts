import { expect, test } from 'vitest'
import type { SnapshotItem } from '../../../../src/core/contract/scans/scanner.ts'
import { evaluateOffline } from '../../../../src/core/rules/door/evaluate-offline.ts'
import { acceptedScans, type OwnScan, ownScanOf } from '../../../../src/core/rules/door/own-scans.ts'
import { changeAtDoor, presenceAtDoor, type ZoneAtDoor } from '../../../../src/core/rules/door/presence-at-door.ts'
import type { Direction } from '../../../../src/core/rules/zones/presence.ts'

const generatedAt = '2027-05-20T07:30:00.000Z'
const hall: ZoneAtDoor = { id: 'hall', capacity: 10, whenFull: 'deny', inside: 1, resetAt: null }
const pass: SnapshotItem = {
  passId: 'ada',
  externalPassId: 'ada',
  label: 'Ada',
  templateName: null,
  status: 'ISSUED',
  expiresAt: null,
  redemption: { maxUses: 1 },
  identifiers: [],
  staleIdentifiers: [],
  acceptedScans: [],
}

/** A door without a network. */
function offlineDoor(item: SnapshotItem) {
  const own: OwnScan[] = []
  return (direction: Direction, minute: number, zone: ZoneAtDoor = hall) => {
    const at = new Date(Date.parse(generatedAt) + minute * 60_000)
    const attempt = {
      payload: null,
      passId: item.passId,
      externalRef: `scan-${minute}`,
      at,
      scanContextKey: null,
      validityDate: null,
      movement: { zoneId: zone.id, direction },
    }
    const scans = { own, reversed: [] }
    const { outcome, record } = evaluateOffline(attempt, {
      snapshotId: 'list',
      matches: { items: [item], isStale: false },
      members: [],
      acceptedScansOf: (of) => acceptedScans({ listed: of.acceptedScans, generatedAt }, scans),
      unsentUsesOf: () => 0,
      presenceOf: (of) => presenceAtDoor(of, zone, scans, { direction, at }),
      station: { projectId: undefined, deviceId: 'gate-1', context: {} },
    })
    if (record.acceptedPassId !== null) own.push(ownScanOf(record))
    return `${outcome.result} ${outcome.reasonCode}`
  }
}

test('a door without a network lets a pass leave and enter again, and denies a second entry', () => {
  const at = offlineDoor(pass)
  expect(at('out', 1)).toBe('denied not_valid_context')
  expect(at('in', 2, { ...hall, inside: 10 })).toBe('denied quota_exhausted')
  expect(at('in', 3)).toBe('accepted valid')
  expect(at('in', 4)).toBe('duplicate already_scanned')
  expect(at('out', 5)).toBe('accepted valid')
  expect(at('in', 6)).toBe('accepted valid')
  expect(at('out', 7)).toBe('accepted valid')
  // After a reset, a use of the pass no longer covers an entry.
  expect(at('in', 9, { ...hall, resetAt: new Date(Date.parse(generatedAt) + 8 * 60_000).toISOString() })).toBe(
    'denied quota_exhausted',
  )
})

test('a door uses the presence in its list', () => {
  const use = { scannedAt: '2027-05-20T07:00:00.000Z', scanContextKey: null }
  const listed = { zoneId: 'hall', direction: 'in' as const, at: use.scannedAt, gate: 'North', use }
  const at = offlineDoor({ ...pass, acceptedScans: [use], presence: [listed] })
  expect(at('in', 1)).toBe('duplicate already_scanned')
  expect(at('out', 2)).toBe('accepted valid')
  expect(at('in', 3)).toBe('accepted valid')
})

test('after the reversal of a listed movement, a pass is where it was before', () => {
  const use = { scannedAt: '2027-05-20T07:00:00.000Z', scanContextKey: null }
  const at = new Date('2027-05-20T07:40:00.000Z')
  const before = (direction: Direction, movedAt: string) => {
    const item = { presence: [{ zoneId: 'hall', direction, at: movedAt, gate: null, use }] }
    const reversed = [{ scannedAt: movedAt, recordedAt: movedAt }]
    const { previous, use: lastUse } = presenceAtDoor(item, hall, { own: [], reversed }, { direction: 'in', at })
    return [previous?.direction, lastUse !== null]
  }
  expect(before('out', '2027-05-20T07:20:00.000Z')).toEqual(['in', true])
  // A re-entry continued the use of an earlier entry, which a later re-entry can continue as well.
  expect(before('in', '2027-05-20T07:20:00.000Z')).toEqual(['out', true])
  expect(before('in', use.scannedAt)).toEqual(['out', false])
})

test('a movement, its reversal, and a count change the number inside, unless the zone was reset since', () => {
  const scannedAt = '2027-05-20T07:40:00.000Z'
  const movement = { zoneId: 'hall', direction: 'out' as const, at: scannedAt }
  const adjustment = { zoneId: 'hall', delta: -3 }
  const changesOf = (zone: Pick<ZoneAtDoor, 'id' | 'resetAt'>) => [
    changeAtDoor({ kind: 'accepted', scannedAt, movement }, zone),
    changeAtDoor({ kind: 'reversed', scannedAt, movement }, zone),
    changeAtDoor({ kind: 'denied', scannedAt, movement }, zone),
    changeAtDoor({ kind: 'counted', scannedAt, adjustment }, zone),
    changeAtDoor({ kind: 'accepted', scannedAt }, zone),
  ]
  expect(changesOf(hall)).toEqual([-1, 1, 0, -3, 0])
  expect(changesOf({ ...hall, id: 'club' })).toEqual([0, 0, 0, 0, 0])
  expect(changesOf({ ...hall, resetAt: scannedAt })).toEqual([0, 0, 0, 0, 0])
})
