import { expect, test } from 'vitest'
import { createSightings } from '../../../src/door/app/camera/sightings.ts'

const qr = (text: string) => ({ text, isLinear: false })
const linear = (text: string) => ({ text, isLinear: true })

test('a code in view is decided once, even if it blurs, and again after it left', () => {
  const sightings = createSightings()
  expect(sightings.see(qr('a'), 0)).toBe('a')
  expect(sightings.see(qr('a'), 100)).toBeUndefined()
  expect(sightings.see(undefined, 1500)).toBeUndefined()
  expect(sightings.see(qr('a'), 1590)).toBeUndefined()
  expect(sightings.see(qr('a'), 3090)).toBeUndefined()
  expect(sightings.see(qr('a'), 4591)).toBe('a')
})

test('another code is decided at once, and the first one, still in view, is not decided again', () => {
  const sightings = createSightings()
  expect(sightings.see(qr('a'), 0)).toBe('a')
  expect(sightings.see(qr('b'), 100)).toBe('b')
  expect(sightings.see(qr('a'), 200)).toBeUndefined()
})

test('a linear code counts when a second picture says the same soon after', () => {
  const sightings = createSightings()
  expect(sightings.see(linear('1'), 0)).toBeUndefined()
  expect(sightings.see(linear('7'), 50)).toBeUndefined()
  expect(sightings.see(linear('1'), 100)).toBeUndefined()
  expect(sightings.see(linear('1'), 801)).toBeUndefined()
  expect(sightings.see(linear('1'), 900)).toBe('1')
  expect(sightings.see(linear('1'), 950)).toBeUndefined()
})
