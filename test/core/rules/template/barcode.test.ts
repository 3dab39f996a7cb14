import { describe, expect, test } from 'vitest'
import type { DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import { compilePass } from '../../../../src/core/rules/pass/pass-rules.ts'
import { findUndrawable } from '../../../../src/core/rules/template/barcode.ts'
import { checkDefinition } from '../../../../src/core/rules/template/definition.ts'
import { parseDefinition } from '../../../support/definitions.ts'

describe('draws a message up to the capacity of its format', () => {
  test.each([
    ['qr', '7', 7089, 'digits'],
    ['qr', 'A', 4296, 'characters'],
    ['qr', 'a', 2953, 'bytes'],
    ['pdf417', '7', 2710, 'digits'],
    ['pdf417', 'a', 1850, 'characters'],
    ['pdf417', 'é', 1108, 'bytes'],
    ['aztec', '7', 3832, 'digits'],
    ['aztec', 'A', 3067, 'letters'],
    ['aztec', '!', 1914, 'bytes'],
    ['code128', '7', 256, 'digits'],
    ['code128', 'a', 128, 'characters'],
  ] as const)('%s of %s: %i', (format, character, max, what) => {
    expect(findUndrawable(format, character.repeat(max))).toBeUndefined()
    expect(findUndrawable(format, character.repeat(max + 1))).toBe(
      `has ${max + 1} ${what}, and ${format} holds at most ${max}`,
    )
  })

  test('beyond Latin-1 each character counts as its bytes in UTF-8, and code128 has none of them', () => {
    expect(findUndrawable('qr', '漢'.repeat(984))).toBeUndefined()
    expect(findUndrawable('qr', '漢'.repeat(985))).toBe('has 2955 bytes, and qr holds at most 2953')
    expect(findUndrawable('code128', 'AB漢字')).toBe('holds "漢", and code128 supports ASCII only')
    expect(findUndrawable('code128', 'é')).toContain('supports ASCII only')
  })
})

const design = { organizationName: 'Hall', description: 'Ticket' }

function checkValues(barcode: object, variables: Record<string, string>, label = 'Ada') {
  const definition = parseDefinition({
    variables: [
      { name: 'code', label: 'Code' },
      { name: 'more', label: 'More' },
    ],
    design: { ...design, barcode },
  } as DefinitionInput)
  expect(checkDefinition(definition)).toEqual([])
  const facts = { id: 'i', externalPassId: 'e', label, scanCode: 's', templateName: 't', projectName: null }
  return compilePass(definition)({ ...facts, variables })
}

test('rejects values whose barcode cannot be drawn, with the variable and the limit', () => {
  const message = '{{code}}{{more}}{{pass.label}}'
  expect(checkValues({ format: 'code128', message }, { code: 'A', more: '漢字' })).toEqual({
    issues: [
      {
        path: ['variables', 'more'],
        message: 'Makes a barcode that cannot be drawn: its message holds "漢", and code128 supports ASCII only',
      },
    ],
  })
  expect(checkValues({ message }, { code: 'a'.repeat(2_000), more: 'b'.repeat(2_001) })).toEqual({
    issues: [
      {
        path: ['variables', 'more'],
        message: 'Makes a barcode that cannot be drawn: its message has 4004 bytes, and qr holds at most 2953',
      },
    ],
  })
  expect(checkValues({ format: 'code128', message }, {}, 'Łucja')).toMatchObject({ issues: [{ path: ['label'] }] })
  expect(checkValues({ format: 'code128', message }, { code: 'A-1' })).toMatchObject({ expiresAt: null })
})

test('rejects on publish what cannot be drawn with any values', () => {
  const problems = (barcode: object, example = 'x') =>
    checkDefinition(
      parseDefinition({
        variables: [{ name: 'code', label: 'Code', example }],
        design: { ...design, barcode },
      } as DefinitionInput),
    )
  expect(problems({ format: 'code128', message: '漢{{code}}' })).toEqual([
    {
      path: ['design', 'barcode', 'message'],
      message: 'Cannot be drawn: it holds "漢", and code128 supports ASCII only',
    },
  ])
  expect(problems({ format: 'code128', message: '{{code}}' }, 'é')).toHaveLength(1)
  expect(problems({ format: 'code128', message: '{{code}}' })).toEqual([])
  expect(problems({ format: 'qr' })).toEqual([])
})
