import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cardColors, contrast } from '../../../../src/core/rules/display/colors.ts'

const color = fc.integer({ min: 0, max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, '0')}`)
const given = fc.option(color, { nil: null })

test('whatever colours a definition gives, every text can be read', () => {
  fc.assert(
    fc.property(given, given, given, (background, foreground, label) => {
      const colors = cardColors({ background, foreground, label })
      expect(contrast(colors.foreground, colors.background)).toBeGreaterThanOrEqual(4.5)
      expect(contrast(colors.label, colors.background)).toBeGreaterThanOrEqual(4.5)
      for (const value of Object.values(colors)) expect(value).toMatch(/^#[0-9a-f]{6}$/)
      if (background) expect(colors.background).toBe(background)
    }),
    { numRuns: 2000 },
  )
})

test('colours that can be read are kept', () => {
  const colors = { background: '#1b1d4d', foreground: '#ffffff', label: '#ffc15e' }
  expect(cardColors(colors)).toEqual(colors)
})

test('a text in the colour of its background is moved no farther than it has to be', () => {
  const { foreground } = cardColors({ background: '#2244aa', foreground: '#2244aa', label: null })
  expect(foreground).not.toBe('#ffffff')
  expect(contrast(foreground, '#2244aa')).toBeLessThan(6)
})

test('a card without colours is dark on white, and one with light text alone is on dark', () => {
  expect(cardColors({ background: null, foreground: null, label: null })).toMatchObject({
    background: '#ffffff',
    foreground: '#000000',
  })
  const { background, foreground } = cardColors({ background: null, foreground: '#fff4c2', label: null })
  expect([background, foreground]).toEqual(['#1c1c1e', '#fff4c2'])
})

test('contrast is that of WCAG', () => {
  expect(contrast('#000000', '#ffffff')).toBe(21)
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2)
  expect(contrast('#ffffff', '#777777')).toBeCloseTo(4.48, 2)
})
