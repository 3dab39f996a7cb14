import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cardColors, contrast } from '../../../../src/core/rules/display/colors.ts'

const color = fc.integer({ min: 0, max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, '0')}`)
const given = fc.option(color, { nil: null })

test('draws the colors of a definition unchanged, regardless of their contrast', () => {
  fc.assert(
    fc.property(given, given, given, (background, foreground, label) => {
      const colors = cardColors({ background, foreground, label })
      if (background) expect(colors.background).toBe(background)
      if (foreground) expect(colors.foreground).toBe(foreground)
      if (label) expect(colors.label).toBe(label)
      for (const value of Object.values(colors)) expect(value).toMatch(/^#[0-9a-f]{6}$/)
    }),
  )
})

test('texts without a color get a readable one', () => {
  fc.assert(
    fc.property(given, (background) => {
      const colors = cardColors({ background, foreground: null, label: null })
      expect(contrast(colors.foreground, colors.background)).toBeGreaterThanOrEqual(4.5)
      expect(contrast(colors.label, colors.background)).toBeGreaterThanOrEqual(4.5)
    }),
    { numRuns: 2000 },
  )
})

test('a card without colours is dark on white, and white on white stays white', () => {
  expect(cardColors({ background: null, foreground: null, label: null })).toMatchObject({
    background: '#ffffff',
    foreground: '#000000',
  })
  const white = { background: '#ffffff', foreground: '#ffffff', label: '#ffffff' }
  expect(cardColors(white)).toEqual(white)
  expect(cardColors({ ...white, background: null })).toEqual(white)
})

test('contrast is that of WCAG', () => {
  expect(contrast('#000000', '#ffffff')).toBe(21)
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2)
  expect(contrast('#ffffff', '#777777')).toBeCloseTo(4.48, 2)
})
