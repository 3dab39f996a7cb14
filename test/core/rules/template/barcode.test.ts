import { describe, expect, test } from 'vitest'
import {
  barcodeFormatNames,
  barcodeFormats,
  findUndrawable,
  otherReadings,
} from '../../../../src/core/barcode-formats.ts'
import type { DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import { compilePass } from '../../../../src/core/rules/pass/pass-rules.ts'
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
    ['code39', 'A', 88, 'characters'],
    ['codabar', '7', 100, 'characters'],
    ['itf', '7', 158, 'digits'],
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
        message: 'Results in a barcode that cannot be drawn: its message holds "漢", and code128 supports ASCII only',
      },
    ],
  })
  expect(checkValues({ message }, { code: 'a'.repeat(2_000), more: 'b'.repeat(2_001) })).toEqual({
    issues: [
      {
        path: ['variables', 'more'],
        message: 'Results in a barcode that cannot be drawn: its message has 4004 bytes, and qr holds at most 2953',
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
      message: 'Cannot be drawn: the message holds "漢", and code128 supports ASCII only',
    },
  ])
  expect(problems({ format: 'code128', message: '{{code}}' }, 'é')).toHaveLength(1)
  expect(problems({ format: 'code128', message: '{{code}}' })).toEqual([])
  expect(problems({ format: 'qr' })).toEqual([])
})

describe('linear formats accept only their own messages', () => {
  test.each([
    ['ean13', '4006381333931', undefined],
    ['ean13', '0012345678905', undefined],
    ['ean13', '4006381333932', 'ends with 2, but its check digit must be 1'],
    ['ean13', '400638133393', 'has 12 digits, and ean13 needs 13'],
    ['ean13', '40063813339310', 'has 14 digits, and ean13 holds at most 13'],
    ['ean13', '400638133393X', 'holds "X", and ean13 supports digits only'],
    ['ean13', '٤٠٠٦٣٨١٣٣٣٩٣١', 'holds "٤", and ean13 supports digits only'],
    ['ean13', ' 4006381333931', 'holds " ", and ean13 supports digits only'],
    ['code39', 'AZ09 -.$/+%', undefined],
    ['code39', 'Az', 'holds "z", and code39 supports digits, capital letters, spaces, and - . $ / + % only'],
    ['code39', '*A*', 'holds "*", and code39 supports digits, capital letters, spaces, and - . $ / + % only'],
    ['codabar', '0-$:/.+9', undefined],
    ['codabar', 'A12B', undefined],
    ['codabar', 'a12b', 'holds "a", and codabar supports digits, - $ : / . +, and A to D at its ends only'],
    ['codabar', 'A12', 'must be digits or symbols, either alone or between two letters'],
    ['codabar', '1A2', 'must be digits or symbols, either alone or between two letters'],
    ['codabar', 'AB', 'must be digits or symbols, either alone or between two letters'],
    ['itf', '00', undefined],
    ['itf', '123', 'has 3 digits, and itf needs an even number of them'],
    ['itf', '1234-6', 'holds "-", and itf supports digits only'],
  ] as const)('%s of %j: %s', (format, message, reason) => {
    expect(findUndrawable(format, message)).toBe(reason)
  })

  test('an empty message means that the pass has no barcode', () => {
    for (const format of barcodeFormatNames) expect(findUndrawable(format, '')).toBeUndefined()
  })

  test('a format needs a message if the scan code does not fit it', () => {
    const doesNotFit = barcodeFormatNames.filter((format) => findUndrawable(format, 'AB2'.repeat(9).slice(1)))
    expect(barcodeFormatNames.filter((format) => barcodeFormats[format].needsMessage)).toEqual(doesNotFit)
    expect(doesNotFit).toEqual(['ean13', 'codabar', 'itf'])
  })
})

describe('publish', () => {
  const MESSAGE = ['design', 'barcode', 'message']
  const problems = (barcode: object, ...variables: object[]) =>
    checkDefinition(
      parseDefinition({
        variables: variables.map((one) => ({ name: 'code', label: 'Code', ...one })),
        design: { ...design, barcode },
      } as DefinitionInput),
    )

  test.each(['ean13', 'codabar', 'itf'])('rejects %s without a message', (format) => {
    const message = `Is required for ${format}: the default {{pass.scanCode}} has letters`
    expect(problems({ format })).toEqual([{ path: MESSAGE, message }])
    expect(problems({ format, message: '{{pass.scanCode}}' })).toMatchObject([{ path: MESSAGE }])
    expect(problems({ format: 'code39' })).toEqual([])
  })

  test('checks constants completely, and variables by their example or default', () => {
    expect(problems({ format: 'ean13', message: '4006381333931' })).toEqual([])
    expect(problems({ format: 'ean13', message: '4006381333932' })).toEqual([
      { path: MESSAGE, message: 'Cannot be drawn: the message ends with 2, but its check digit must be 1' },
    ])
    const message = '{{code}}'
    expect(problems({ format: 'ean13', message }, {})).toEqual([])
    expect(problems({ format: 'ean13', message }, { example: '4006381333931' })).toEqual([])
    expect(problems({ format: 'ean13', message }, { example: '4006381333932' })).toMatchObject([{ path: MESSAGE }])
    expect(problems({ format: 'itf', message }, { default: '123' })).toMatchObject([{ path: MESSAGE }])
    expect(problems({ format: 'ean13', message: '400{{code}}' }, {})).toEqual([])
    expect(problems({ format: 'ean13', message: 'M-{{code}}' }, {})).toEqual([
      { path: MESSAGE, message: 'Cannot be drawn: the message holds "M", and ean13 supports digits only' },
    ])
    expect(problems({ format: 'code39', message: '{{pass.id}}' })).toMatchObject([{ path: MESSAGE }])
  })
})

test('rejects values that do not fit a linear format, with the variable', () => {
  const message = '{{code}}{{more}}'
  expect(checkValues({ format: 'ean13', message }, { code: '400638', more: '1333932' })).toEqual({
    issues: [
      {
        path: ['variables', 'more'],
        message: 'Results in a barcode that cannot be drawn: its message ends with 2, but its check digit must be 1',
      },
    ],
  })
  expect(checkValues({ format: 'code39', message }, { code: 'a', more: 'LONGER' })).toMatchObject({
    issues: [{ path: ['variables', 'code'] }],
  })
  expect(checkValues({ format: 'itf', message: '{{pass.label}}' }, {}, '123')).toMatchObject({
    issues: [{ path: ['label'] }],
  })
  expect(checkValues({ format: 'ean13', message }, { code: '400638', more: '1333931' })).toMatchObject({
    expiresAt: null,
  })
})

test('scanners can send another payload than the message: UPC-A, small letters, start and stop signs', () => {
  const readings = (payload: string) => otherReadings(payload).map(({ format, message }) => `${format} ${message}`)
  expect(readings('012345678905')).toContain('ean13 0012345678905')
  expect(readings('012345678904').filter((text) => text.startsWith('ean13'))).toEqual([])
  expect(readings('abc-1')).toEqual(['code39 ABC-1'])
  expect(readings('*ABC-1*')).toEqual(['code39 ABC-1'])
  expect(readings('A123B')).toEqual(['codabar 123'])
  expect(readings('a123b')).toEqual(['code39 A123B', 'codabar A123B', 'codabar 123'])
  expect(readings('12')).toHaveLength(16)
  expect(readings('12')).toContain('codabar D12C')
  expect(readings('SAMPLESAMPLESAMPLESAMPLE22')).toEqual([])
  expect(readings('ß'.repeat(200))).toEqual([])
})
