import { expect, test } from 'vitest'
import { drillTable, isSound, type StageResult, total } from '../../../src/cli/drill/table.ts'

const stage: StageResult = {
  stage: 'take-over',
  seconds: 3,
  phonesLost: 0,
  reinstalled: 0,
  packages: 1_000,
  packagesChecked: 25,
  packagesRefused: 0,
  updates: 40,
  updatesMissed: 0,
  scans: 50,
  scansRefusedWrongly: 0,
  longestGapSeconds: 0.4,
}

test('sums are below the stages, with the longest gap', () => {
  const stages = [stage, { ...stage, stage: 'renewal', longestGapSeconds: 2 }]
  expect(total(stages)).toMatchObject({ stage: 'all', seconds: 6, packages: 2_000, updates: 80, longestGapSeconds: 2 })
  expect(drillTable(stages, undefined).split('\n').at(-1)).toMatch(/^all .*0 of 2,000 .*0 of 80 .*0 of 100 .*2 s$/)
})

test.each(['phonesLost', 'reinstalled', 'packagesRefused', 'updatesMissed', 'scansRefusedWrongly'] as const)(
  'a drill with one more than none of %s is not sound',
  (name) => {
    expect(isSound(total([stage, stage]))).toBe(true)
    expect(isSound(total([{ ...stage, [name]: 1 }, stage]))).toBe(false)
  },
)
