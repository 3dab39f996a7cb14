import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { jsonLines } from '../../../src/cli/arguments/list.ts'
import { textWidth } from '../../../src/cli/command/output.ts'
import { csvOf } from '../../../src/cli/list/csv.ts'
import { tableFormat } from '../../../src/cli/list/shape.ts'
import { passesShape } from '../../../src/cli/pass-list.ts'
import type { Pass } from '../../../src/core/contract/passes.ts'

function pass(change: Partial<Pass> = {}): Pass {
  return {
    id: '0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33',
    externalPassId: 'T-1',
    label: 'Ada',
    status: 'ISSUED',
    version: 3,
    templateVersionId: null,
    templateId: null,
    projectId: null,
    variables: {},
    redemption: null,
    expiresAt: null,
    createdAt: '2027-05-31T10:00:00.000Z',
    updatedAt: '2027-05-31T10:00:00.000Z',
    revision: 1,
    templateVersion: null,
    latestTemplateVersion: null,
    hostedLinks: { apple: null, google: null, smart: null },
    ...change,
  }
}

test('CSV comes page by page under one header, and whatever the values hold is read back', () => {
  const write = csvOf(passesShape, { header: true, rawCells: false })
  const label = 'Ada; "the Countess",\r\nof Lovelace'
  const text = write([pass({ label, variables: { seat: '1,"2"', n: null } })]) + write([]) + write([pass()])
  const rows: Record<string, string>[] = parse(text, { columns: true })
  expect(rows).toMatchObject([
    { label, templateId: '' },
    { label: 'Ada', variables: '{}' },
  ])
  expect(JSON.parse(rows[0]!.variables!)).toEqual({ seat: '1,"2"', n: null })
})

test('JSON lines are one pass a line, whatever the label holds', () => {
  const text = jsonLines([pass({ label: 'a\nb' }), pass()])
  expect(text.split('\n')).toHaveLength(3)
  expect(JSON.parse(text.split('\n')[0]!)).toEqual(pass({ label: 'a\nb' }))
})

test('a table fits a terminal of 80 columns page after page, never cuts a status, and has one header', () => {
  const write = tableFormat(passesShape, { width: 80 })
  const wide = pass({ externalPassId: 'x'.repeat(60), label: '名'.repeat(60), expiresAt: '2027-06-01T00:00:00.000Z' })
  const lines = (write([wide]) + write([wide, pass({ status: 'EXPIRED' })])).trimEnd().split('\n')
  expect(lines).toHaveLength(4)
  for (const line of lines.slice(1, 3)) {
    expect(textWidth(line)).toBeLessThanOrEqual(80)
    expect(line).toMatch(/^0198c7a3-1b02 /)
  }
  expect(lines[3]).toContain('EXPIRED')
})
