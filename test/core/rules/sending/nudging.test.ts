import { expect, test } from 'vitest'
import { nextNudge } from '../../../../src/core/rules/sending/nudging.ts'

test('the next push of a silent phone is later than the present one', () => {
  const after = (seconds: number) => new Date(seconds * 1000)
  expect(nextNudge(after(0), after(599))).toEqual(after(600))
  expect(nextNudge(after(0), after(600))).toEqual(after(3_600))
  expect(nextNudge(after(0), after(86_400))).toBeUndefined()
})
