import { expect, test } from 'vitest'
import type { SnapshotItem } from '../../../../src/core/contract/scanner.ts'
import { evaluateOffline } from '../../../../src/core/rules/door/evaluate-offline.ts'
import { acceptedScans, type OwnScan, ownScanOf } from '../../../../src/core/rules/door/own-scans.ts'
import { presenceAtDoor, type ZoneAtDoor } from '../../../../src/core/rules/door/presence-at-door.ts'
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
      presenceOf: (of) => presenceAtDoor(of, zone, scans, { direction, at }),
      station: { projectId: undefined, deviceId: 'gate-1', context: {} },
    })
    if (record.acceptedPassId !== null) own.push(ownScanOf(record, undefined))
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
