import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { plant } from '../scripts/faults/fault.ts'
import { faults } from '../scripts/faults/table.ts'

/** `npm run faults` runs rarely, so check that each fault still matches a line of the source. */

const root = join(import.meta.dirname, '..')

test.each(faults)('the fault $name can be planted, and its tests exist', (fault) => {
  const source = readFileSync(join(root, fault.file), 'utf8')
  expect(plant(source, fault)).not.toBe(source)
  expect(fault.tests.filter((file) => !existsSync(join(root, file)))).toEqual([])
})

test('faults have unique names', () => {
  expect(new Set(faults.map(({ name }) => name)).size).toBe(faults.length)
})

test('plants a fault only where its text appears exactly once', () => {
  const fault = { ...faults[0]!, name: 'dots', file: 'some.ts', text: 'a.b', replacement: '$&$1' }
  expect(plant('a.b, acb', fault)).toBe('$&$1, acb')
  for (const source of ['acb', 'a.b, a.b'])
    expect(() => plant(source, fault)).toThrow('The text of the fault dots occurs')
})
