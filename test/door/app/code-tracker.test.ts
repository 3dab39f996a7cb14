import { expect, test } from 'vitest'
import { createCodeTracker } from '../../../src/door/app/camera/code-tracker.ts'

const qr = (text: string) => ({ text, isLinear: false })
const linear = (text: string) => ({ text, isLinear: true })

test('a code in view is decided once, even if it blurs, and again after it left', () => {
  const codeTracker = createCodeTracker()
  expect(codeTracker.see(qr('a'), 0)).toBe('a')
  expect(codeTracker.see(qr('a'), 100)).toBeUndefined()
  expect(codeTracker.see(undefined, 1500)).toBeUndefined()
  expect(codeTracker.see(qr('a'), 1590)).toBeUndefined()
  expect(codeTracker.see(qr('a'), 3090)).toBeUndefined()
  expect(codeTracker.see(qr('a'), 4591)).toBe('a')
})

test('another code is decided at once, and the first one, still in view, is not decided again', () => {
  const codeTracker = createCodeTracker()
  expect(codeTracker.see(qr('a'), 0)).toBe('a')
  expect(codeTracker.see(qr('b'), 100)).toBe('b')
  expect(codeTracker.see(qr('a'), 200)).toBeUndefined()
})

test('accepts a linear code if a second picture soon after confirms it', () => {
  const codeTracker = createCodeTracker()
  expect(codeTracker.see(linear('1'), 0)).toBeUndefined()
  expect(codeTracker.see(linear('7'), 50)).toBeUndefined()
  expect(codeTracker.see(linear('1'), 100)).toBeUndefined()
  expect(codeTracker.see(linear('1'), 801)).toBeUndefined()
  expect(codeTracker.see(linear('1'), 900)).toBe('1')
  expect(codeTracker.see(linear('1'), 950)).toBeUndefined()
})
