import { expect, test } from 'vitest'
import { acceptedScans, isListed } from '../../../../src/core/rules/door/own-scans.ts'

const generatedAt = '2026-03-01T12:00:00.000Z'

test('a list holds what the server recorded more than five seconds before it, and what it rejected', () => {
  expect(isListed('2026-03-01T11:59:54.999Z', generatedAt)).toBe(true)
  expect(isListed('2026-03-01T11:59:55.000Z', generatedAt)).toBe(false)
  expect(isListed('2026-03-01T12:00:01.000Z', generatedAt)).toBe(false)
  expect(isListed(undefined, generatedAt)).toBe(false)
  expect(isListed(null, generatedAt)).toBe(true)
})

test('a scan and a reversal that the server recorded while the list was read count once', () => {
  const scannedAt = '2026-03-01T11:59:00.000Z'
  const scan = { scannedAt, scanContextKey: null }
  const justBefore = { ...scan, recordedAt: '2026-03-01T11:59:57.000Z' }
  const count = (listed: (typeof scan)[], own: (typeof justBefore)[], reversed: (typeof justBefore)[] = []) =>
    acceptedScans({ listed, generatedAt }, { own, reversed }).length
  expect(count([], [justBefore])).toBe(1)
  expect(count([scan], [justBefore])).toBe(1)
  expect(count([scan], [justBefore], [justBefore])).toBe(0)
  expect(count([], [justBefore], [justBefore])).toBe(0)
  // Several scans with the same validity date can have the same time.
  expect(count([scan], [justBefore, justBefore])).toBe(2)
  expect(count([scan, scan], [], [justBefore])).toBe(1)
  expect(count([], [{ ...scan, recordedAt: '2026-03-01T11:59:54.000Z' }])).toBe(0)
})
