import { parse } from 'csv-parse/sync'
import { expect, onTestFinished, test, vi } from 'vitest'
import { textWidth } from '../../../src/cli/command/output.ts'
import { tableFormat } from '../../../src/cli/list/shape.ts'
import { type HeldScan, scansFormat, scansShape } from '../../../src/cli/scan-list/formats.ts'

const scansTable = (width: number | undefined) => tableFormat(scansShape, { width })

function scan(change: Partial<HeldScan> = {}): HeldScan {
  return {
    id: '0198c7a9-4c11-7e20-b1d7-2f3a4b5c6d7e',
    result: 'denied',
    reason: 'quota_exhausted',
    verified: 'offline',
    passId: '0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33',
    projectId: null,
    externalPassId: 'T-1',
    scannedAt: '2027-05-31T19:30:00.000Z',
    recordedAt: '2027-05-31T19:31:00.000Z',
    deviceId: 'gate-1',
    metadata: {},
    label: 'Ada',
    door: null,
    ...change,
  }
}

test('a table fits a terminal of 80 columns, never cuts an id, and shows conflicts where there is room', () => {
  vi.stubEnv('TZ', 'UTC')
  onTestFinished(() => void vi.unstubAllEnvs())
  const long = scan({ externalPassId: 'x'.repeat(80), metadata: { conflict: 'valid' } })
  const lines = scansTable(80)([long]).trimEnd().split('\n')
  for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(80)
  expect(lines[1]).toContain('0198c7a9-4c11-7e20-b1d7-2f3a4b5c6d7e  2027-05-31 19:30')
  expect(scansTable(undefined)([long, scan({ result: 'reversal', reason: null })])).toMatch(
    /quota_exhausted .* offline, conflict\n.* reversal /,
  )
})

test('a table shows the name of a door, and CSV its id', () => {
  const [byDoor, byDevice] = [scan({ door: 'Phone of Eve', deviceId: '0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c34' }), scan()]
  expect(scansTable(undefined)([byDoor, byDevice])).toMatch(/Phone of Eve .*\n.* gate-1 /)
  expect(scansFormat('csv', { isContinued: true, rawCells: false })([byDoor])).toContain(`,${byDoor.deviceId},`)
})

test('CSV holds any device text, and continues without a second header', () => {
  const metadata = { note: 'late, "with" a\r\nfriend', conflict: 'valid' as const, validateAsOf: '2027-05-31' }
  const first = scansFormat('csv', { isContinued: false, rawCells: false })
  const rest = scansFormat('csv', { isContinued: true, rawCells: false })
  const text = first([scan({ metadata })]) + first([]) + rest([scan({ deviceId: null })])
  const rows: Record<string, string>[] = parse(text, { columns: true })
  expect(rows).toMatchObject([
    { conflict: 'valid', validateAsOf: '2027-05-31', deviceId: 'gate-1', projectId: '', label: 'Ada' },
    { conflict: '', deviceId: '', reversesScanId: '' },
  ])
  expect(JSON.parse(rows[0]!.metadata!)).toEqual(metadata)
})
