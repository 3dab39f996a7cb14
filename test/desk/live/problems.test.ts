import { expect, test } from 'vitest'
import { ApiRejection } from '../../../src/desk/live/desk-api.ts'
import { problemOf } from '../../../src/desk/live/problems.ts'
import { deskTexts } from '../../../src/locales/desk-texts.ts'

test('shows rejections of the server in the language of the page', async () => {
  const words = await deskTexts.de()
  const { problems } = words
  const textOf = (status: number, code: string) =>
    problemOf(new ApiRejection({ status, code, message: 'English', waitMs: null }), words).text
  expect(textOf(403, 'TENANT_SUSPENDED')).toBe('Der Arbeitsbereich ist gesperrt. Frag den Betreiber des Servers.')
  expect(textOf(403, 'FORBIDDEN')).toBe(problems.notAllowed)
  expect(textOf(400, 'VALIDATION_ERROR')).toBe(problems.notValid)
  expect(textOf(404, 'PASS_NOT_FOUND')).toBe(problems.notFound)
  expect(textOf(429, 'RATE_LIMITED')).toBe(problems.busy)
  expect(textOf(409, 'CONFLICT')).toBe(problems.notNow)
  const details = { value: 1000, min: 0, max: 5000, delta: -1001 }
  const bounds = new ApiRejection({ status: 409, code: 'CONFLICT', message: 'English', waitMs: null, details })
  expect(problemOf(bounds, words)).toEqual({ text: problems.balanceBounds, detail: '' })
  // A code without a text is not taken from the prototype of the texts.
  expect(textOf(500, 'toString')).toBe(problems.busy)
})
