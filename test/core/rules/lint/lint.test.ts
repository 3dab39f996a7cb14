import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { Definition, type DefinitionInput, type PassType } from '../../../../src/core/contract/schemas/definition.ts'
import { warningTable } from '../../../../src/core/contract/schemas/warnings.ts'
import { renderCard } from '../../../../src/core/rules/display/card.ts'
import { readGoogleView } from '../../../../src/core/rules/display/google-view.ts'
import { type LintFacts, lintDefinition } from '../../../../src/core/rules/lint/lint.ts'
import { MOSAIC } from '../../../../src/core/rules/lint/mosaic.ts'

import { longScope } from '../../../../src/core/rules/template/definition.ts'
import { parseDefinition } from '../../../support/definitions.ts'

const id = '018f2f5e-7c1a-7000-8000-0123456789ab'
const wantedPixels = { icon: { width: 114, height: 114 }, logo: { width: 480, height: 150 } }

type Design = DefinitionInput['design']

/** Returns the facts of a design without faults. A test replaces the parts that it checks. */
function factsOf(
  parts: Partial<Design>,
  passType: PassType = 'generic',
  rest: Partial<DefinitionInput> = {},
): LintFacts {
  const definition = parseDefinition({
    design: {
      organizationName: 'Harbour Cinema',
      description: 'Ticket',
      images: { icon: id, logo: id },
      fields: { primary: [{ key: 'name', label: 'NAME', value: '{{pass.label}}' }] },
      ...parts,
    },
    ...rest,
  })
  const scope = longScope(definition)
  const card = renderCard({ definition, passType, scope, expiresAt: null, voided: false })
  const view = readGoogleView({}, { header: { defaultValue: { value: 'Ada Lovelace' } } })
  const images = { icon: { width: 114, height: 114 }, logo: { width: 480, height: 150 } }
  return {
    definition,
    passType,
    apple: card,
    scanned: card.barcode.message,
    google: { kind: 'generic', needsLogo: false, card, view, hidden: [] },
    images,
    strips: new Map(),
    wantedPixels,
  }
}

const found = (facts: LintFacts) => lintDefinition(facts).map(({ code, path }) => `${code} ${path.slice(1).join('.')}`)

const fields = (group: string, count: number, value = 'B7') =>
  Array.from({ length: count }, (_, n) => ({ key: `${group}${n}`, label: group.slice(0, 4), value }))

test('a design that every phone shows completely has no warning', () => {
  expect(found(factsOf({}))).toEqual([])
})

describe('contrast', () => {
  test.each([
    ['white on white', { foreground: '#ffffff' }, ['contrast-low design.colors.foreground']],
    [
      'a label in the background color',
      { background: '#777777', foreground: '#000000', label: '#777777' },
      ['contrast-low design.colors.label'],
    ],
    [
      'just below the minimum',
      { background: '#ffffff', foreground: '#777777', label: '#000000' },
      ['contrast-low design.colors.foreground'],
    ],
    ['exactly the minimum', { background: '#ffffff', foreground: '#767676', label: '#000000' }, []],
    ['colors that the phone selects', { background: '#777777' }, []],
  ] as const)('%s', (_, colors, expected) => {
    expect(found(factsOf({ colors }))).toEqual(expected)
  })

  test('the message contains the WCAG ratio and advice', () => {
    const [warning] = lintDefinition(factsOf({ colors: { background: '#ffffff', foreground: '#777777' } }))
    expect(warning!.message).toMatch(/#777777 on #ffffff have a contrast of 4\.48.* 4\.5 .*choose/)
  })

  test('a color in the overrides is reported with its place', () => {
    const facts = factsOf({}, 'generic', { apple: { foregroundColor: 'rgb(255, 255, 255)' } })
    const apple = { ...facts.apple!, colors: { background: '#ffffff', foreground: '#ffffff', label: null } }
    expect(found({ ...facts, apple })).toEqual(['contrast-low apple.foregroundColor'])
  })

  test('labels that no design contains have no color', () => {
    const primary = [{ key: 'name', value: 'Ada' }]
    expect(found(factsOf({ colors: { background: '#ffffff', label: '#ffffff' }, fields: { primary } }))).toEqual([])
  })
})

describe('more fields than the style shows', () => {
  const square = { format: 'qr' as const }
  const bars = { format: 'pdf417' as const }
  test.each([
    ['generic', bars, { secondary: 4, auxiliary: 4 }, undefined],
    ['generic', square, { secondary: 2, auxiliary: 2 }, undefined],
    ['generic', square, { secondary: 2, auxiliary: 3 }, 'design.fields.auxiliary.2'],
    ['coupon', bars, { secondary: 2, auxiliary: 3 }, 'design.fields.auxiliary.2'],
    ['storeCard', bars, { secondary: 5 }, 'design.fields.secondary.4'],
    ['eventTicket', square, { secondary: 4, auxiliary: 4 }, undefined],
    ['eventTicket', square, { auxiliary: 5 }, 'design.fields.auxiliary.4'],
    ['boardingPass', square, { primary: 2, secondary: 4, auxiliary: 5 }, undefined],
    ['boardingPass', square, { auxiliary: 6 }, 'design.fields.auxiliary.5'],
    ['boardingPass', square, { primary: 3 }, 'design.fields.primary.2'],
    ['eventTicket', square, { primary: 2 }, 'design.fields.primary.1'],
  ] as const)('%s with %o and %o', (passType, barcode, counts, path) => {
    const groups = Object.fromEntries(Object.entries(counts).map(([group, count]) => [group, fields(group, count)]))
    const warnings = lintDefinition({ ...factsOf({ fields: groups, barcode }, passType), google: null })
    expect(warnings.map(({ code, path: at }) => [code, at.slice(1).join('.')])).toEqual(
      path ? [['fields-over', path]] : [],
    )
  })

  test('an empty field takes no space', () => {
    const secondary = [...fields('secondary', 4), { key: 'empty', label: '', value: '' }]
    expect(found({ ...factsOf({ fields: { secondary } }, 'coupon'), google: null })).toEqual([])
  })

  test('warns about fields in the classic style that only a poster shows', () => {
    const footerFields = [{ key: 'footer', value: 'Thank you' }]
    const paths = (apple: DefinitionInput['apple']) =>
      lintDefinition({ ...factsOf({}, 'generic', { apple }), google: null }).map(({ path }) => path.slice(1).join('.'))
    expect(paths({ generic: { footerFields } })).toEqual(['apple.generic.footerFields'])
    expect(paths({ poster: true, posterGeneric: { footerFields } })).toEqual([])
  })

  test('the message names what is not shown', () => {
    const facts = factsOf(
      { fields: { secondary: fields('secondary', 3), auxiliary: fields('auxiliary', 3) } },
      'coupon',
    )
    const [warning] = lintDefinition({ ...facts, google: null })
    expect(warning!.message).toMatch(
      /4 secondary and auxiliary fields together.*auxiliary1, auxiliary2.*Move them to the back/,
    )
  })
})

describe('texts that are cut', () => {
  const cut = (value: string, others = 0, rest: Partial<DefinitionInput> = {}) => {
    const secondary = [{ key: 'long', label: 'L', value }, ...fields('short', others)]
    return found({ ...factsOf({ fields: { secondary } }, 'eventTicket', rest), google: null })
  }
  test('shows a row that fits completely, and cuts the widest text of one that does not', () => {
    expect(cut('Mercado da Ribeira, stall 12')).toEqual([])
    expect(cut('Mercado da Ribeira, stall 12, behind the flowers')).toEqual(['text-cut design.fields.secondary.0'])
    expect(cut('Mercado da Ribeira, stall 12', 3)).toEqual(['text-cut design.fields.secondary.0'])
  })

  test('tests a variable with the longer of example and default, or with maxLength if it has neither', () => {
    const long = 'Mercado da Ribeira, stall 12, behind the flowers'
    const of = (variable: object) => cut('{{shop}}', 0, { variables: [{ name: 'shop', label: 'Shop', ...variable }] })
    expect(of({ example: 'B7' })).toEqual([])
    expect(of({ example: 'B7', maxLength: 200 })).toEqual([])
    expect(of({ example: 'B7', default: long })).toHaveLength(1)
    expect(of({ example: long, default: 'B7' })).toHaveLength(1)
    expect(of({ maxLength: 200 })).toHaveLength(1)
    expect(of({ maxLength: 5 })).toEqual([])
  })

  test('a text in large is shrunk before it is cut', () => {
    const of = (value: string) => found({ ...factsOf({ fields: { primary: [{ key: 'name', value }] } }), google: null })
    expect(of('Association of Ferrymen')).toEqual([])
    expect(of('Association of Ferrymen of the Lower Tagus and Its Tributaries')).toEqual([
      'text-cut design.fields.primary.0',
    ])
  })

  test('the logo text has the width that logo and header leave', () => {
    const logoText = 'Harbour Cinema and Theatre'
    const header = fields('header', 2, '18:30')
    expect(found({ ...factsOf({ logoText, images: { icon: id } }), google: null })).toEqual([])
    expect(found({ ...factsOf({ logoText, fields: { header } }), google: null })).toEqual(['text-cut design.logoText'])
  })

  test('letters of other scripts have their own width', () => {
    expect(cut('東京国際フォーラム多言語会議実行委員会事務局')).toEqual(['text-cut design.fields.secondary.0'])
    expect(cut(`e${'\u0301'.repeat(100)}`)).toEqual([])
  })

  test('warns about names that are longer than Google advises', () => {
    const facts = factsOf({ organizationName: 'The Royal Society of Cinemas' }, 'eventTicket')
    const view = { ...facts.google!.view, name: 'The Royal Society of Cinemas', title: 'Ada Lovelace' }
    expect(found({ ...facts, google: { ...facts.google!, kind: 'eventTicket', view } })).toEqual([
      'text-cut design.organizationName',
    ])
  })
})

describe('images', () => {
  test('a pass without an icon, and a loyalty card without any logo', () => {
    const facts = factsOf({ images: {} }, 'storeCard')
    expect(found({ ...facts, images: {}, google: { ...facts.google!, kind: 'loyalty', needsLogo: true } })).toEqual([
      'image-missing design.images.icon',
      'image-missing design.images.logo',
    ])
    expect(found({ ...facts, images: {}, google: null })).toEqual(['image-missing design.images.icon'])
  })

  test('an image that fills no side of its area on the sharpest phones', () => {
    const facts = factsOf({})
    expect(found({ ...facts, images: { logo: { width: 479, height: 149 } } })).toEqual([
      'image-small design.images.logo',
    ])
    expect(found({ ...facts, images: { logo: { width: 120, height: 150 } } })).toEqual([])
  })

  test('an image that the style does not show can have any size', () => {
    const facts = factsOf({})
    const thumbnail = { width: 10, height: 10 }
    expect(
      found({ ...facts, images: { thumbnail }, wantedPixels: { thumbnail: { width: 270, height: 270 } } }),
    ).toEqual([])
  })
})

describe('Google', () => {
  const bars = { format: 'pdf417' as const }
  test('fields and links that Google does not show', () => {
    const back = fields('back', 11)
    expect(found(factsOf({ fields: { primary: fields('primary', 1, 'Ada Lovelace'), back }, barcode: bars }))).toEqual([
      'google-modules-over design.fields.back.10',
    ])
    expect(found(factsOf({ fields: { primary: fields('primary', 1, 'Ada Lovelace'), back: back.slice(1) } }))).toEqual(
      [],
    )
    const facts = factsOf({})
    const links = Array.from({ length: 11 }, (_, n) => ({ label: 'L', url: `https://harbour.example/${n}` }))
    expect(found({ ...facts, google: { ...facts.google!, card: { ...facts.google!.card, links } } })).toEqual([
      'google-modules-over design.links.10',
    ])
  })

  test('a front that shows no field', () => {
    const facts = factsOf({ fields: { back: fields('back', 1) } })
    expect(found(facts)).toEqual(['google-front-empty design.fields'])
    expect(found({ ...facts, google: { ...facts.google!, kind: 'flight' } })).toEqual([])
    const rows = [[{ key: 'seat', label: 'Seat', value: 'B7' }]]
    expect(found({ ...facts, google: { ...facts.google!, view: { ...facts.google!.view, rows } } })).toEqual([])
  })
})

test('reports each text and image that lacks a language, with place and language', () => {
  const [languages, description] = [
    { default: 'pt', others: ['en', 'ar'] },
    { pt: 'Bilhete', en: 'Ticket' },
  ]
  const images = { icon: id, logo: { pt: id } }
  const warnings = lintDefinition(factsOf({ description, images }, 'generic', { languages }))
  expect(
    warnings.map(({ code, path, message }) => `${code} ${path.join('.')} ${/in (\w+):/.exec(message)?.[1]}`),
  ).toEqual([
    'translation-missing definition.design.description ar',
    'translation-missing definition.design.images.logo en',
    'translation-missing definition.design.images.logo ar',
  ])
})

test('omits warnings that the definition accepts by code, and reports all others', () => {
  const faulty = { colors: { foreground: '#ffffff', label: '#ffffff' }, images: {} }
  const all = found(factsOf(faulty))
  expect(all).toEqual([
    'contrast-low design.colors.foreground',
    'contrast-low design.colors.label',
    'image-missing design.images.icon',
  ])
  expect(found(factsOf(faulty, 'generic', { accept: ['contrast-low'] }))).toEqual(['image-missing design.images.icon'])
})

test('a definition accepts known codes only', () => {
  const parsed = Definition.safeParse({ design: { organizationName: 'O', description: 'D' }, accept: ['contrast'] })
  expect(parsed.error!.issues[0]!.path).toEqual(['accept', 0])
})

describe('images that no wallet shows', () => {
  const imageTypes = {
    strip: ['coupon', 'storeCard', 'eventTicket'],
    thumbnail: ['generic', 'eventTicket'],
    background: ['eventTicket', 'storeCard'],
    artwork: ['eventTicket', 'storeCard'],
    footer: ['boardingPass'],
  } as const satisfies LintFacts['imageTypes']
  const hidden = (passType: PassType, roles: string[], apple?: DefinitionInput['apple'], google = true) => {
    const images = { icon: id, logo: id, ...Object.fromEntries(roles.map((role) => [role, id])) }
    const facts = factsOf({ images }, passType, apple && { apple })
    return found({
      ...facts,
      imageTypes: { ...imageTypes, icon: [passType], logo: [passType] },
      ...(!google && { google: null }),
    })
      .filter((text) => text.startsWith('image-hidden'))
      .map((text) => text.replace('image-hidden design.images.', ''))
  }

  test.each([
    ['a thumbnail on a store card', 'storeCard', ['thumbnail'], ['thumbnail']],
    ['a thumbnail on a generic pass', 'generic', ['thumbnail'], []],
    ['a thumbnail next to a strip', 'eventTicket', ['strip', 'thumbnail'], ['thumbnail']],
    ['a background next to a strip', 'eventTicket', ['strip', 'background'], ['background']],
    ['a background', 'eventTicket', ['background'], []],
    ['an artwork without a poster', 'storeCard', ['artwork', 'background'], ['background', 'artwork']],
    ['a footer', 'coupon', ['footer'], ['footer']],
    ['a strip that Google shows', 'generic', ['strip'], []],
    ['a strip next to a hero', 'generic', ['strip', 'hero'], ['strip']],
  ] as const)('%s', (_, passType, roles, expected) => {
    expect(hidden(passType, [...roles])).toEqual(expected)
  })

  test('posters show their images, and Google none of the others', () => {
    expect(hidden('storeCard', ['artwork', 'background'], { poster: true })).toEqual([])
    expect(hidden('generic', ['strip', 'hero'], undefined, false)).toEqual(['strip', 'hero'])
  })
})

describe('barcodes that Google shows as a QR code', () => {
  const withBarcode = (message: string, example?: string) => {
    const variables = [{ name: 'code', label: 'Code', ...(example !== undefined && { example }) }]
    return found(factsOf({ barcode: { format: 'itf', message } }, 'generic', { variables }))
  }
  const warning = ['barcode-fallback design.barcode.message']

  test.each([
    ['an ITF-14', '10012345678902', undefined, []],
    ['a wrong check digit', '10012345678903', undefined, warning],
    ['another length', '123456', undefined, warning],
    ['an example', '{{code}}', '123456', warning],
    ['an unknown value', '{{code}}', undefined, []],
  ] as const)('%s', (_, message, example, expected) => {
    expect(withBarcode(message, example)).toEqual(expected)
  })

  test('the message names the need, and the warning can be accepted', () => {
    const barcode = { format: 'itf', message: '123456' } as const
    const [{ message } = { message: '' }] = lintDefinition(factsOf({ barcode }))
    expect(message).toBe(
      "Google Wallet shows “123456” as a QR code, because Google's ITF_14 needs 14 digits with a correct check digit",
    )
    expect(found(factsOf({ barcode }, 'generic', { accept: ['barcode-fallback'] }))).toEqual([])
    expect(found({ ...factsOf({ barcode }), google: null })).toEqual([])
  })
})

test('the guide lists every code with advice', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../../../docs/templates.md'), 'utf8')
  for (const code of Object.keys(warningTable)) expect(guide).toContain(`| \`${code}\` |`)
})

test('warnings are few, short, and well-formed for any texts of a design', () => {
  const text = fc.string({ maxLength: 200 }).map((letters) => letters.replaceAll('\0', ''))
  fc.assert(
    fc.property(text, text, (label, value) => {
      const all = ['header', 'primary', 'secondary', 'auxiliary'] as const
      const groups = Object.fromEntries(all.map((group) => [group, [{ key: group, label: label, value }]]))
      const warnings = lintDefinition(factsOf({ fields: groups, logoText: label }, 'boardingPass'))
      expect(warnings.length).toBeLessThan(20)
      for (const { message } of warnings) expect([message.isWellFormed(), message.length < 700]).toEqual([true, true])
    }),
  )
})

describe('the tags of a poster ticket', () => {
  const missing = (semantics: Record<string, unknown> | undefined, rest: Partial<DefinitionInput> = {}) => {
    const apple = { poster: true, ...(semantics && { semantics }) }
    const warnings = lintDefinition(factsOf({}, 'eventTicket', { apple, ...rest }))
    return warnings.filter(({ code }) => code === 'poster-event-data-missing').map(({ path }) => path.at(-1))
  }
  const place = { venueRegionName: 'Lisboa', venueRoom: 'Main stage' }
  test.each([
    ['a ticket without tags', undefined, ['venueRegionName', 'venueRoom']],
    ['an empty tag', { ...place, venueRoom: ' ' }, ['venueRoom']],
    ['a concert', { ...place, eventType: 'PKEventTypeLivePerformance', performerNames: [] }, ['performerNames']],
    ['a match', { ...place, eventType: 'PKEventTypeSports' }, ['homeTeamAbbreviation', 'awayTeamAbbreviation']],
    ['a complete ticket', { ...place, eventType: 'PKEventTypeLivePerformance', performerNames: ['Ada'] }, []],
  ])('%s', (_, semantics, expected) => {
    expect(missing(semantics)).toEqual(expected)
  })

  test('a variable without an example is assumed to have a value, and an empty example is missing', () => {
    const semantics = { venueRegionName: '{{region}}', venueRoom: '{{room}}' }
    const variables = [
      { name: 'region', label: 'Region' },
      { name: 'room', label: 'Room', example: '' },
    ]
    expect(missing(semantics, { variables })).toEqual(['venueRoom'])
  })

  test('a ticket that asks for the poster in the key of Apple needs them, too', () => {
    const apple = { preferredStyleSchemes: ['posterEventTicket', 'eventTicket'] }
    expect(missing(undefined, { apple })).toEqual(['venueRegionName', 'venueRoom'])
  })

  test('classic tickets need none of them', () => {
    expect(found(factsOf({}, 'eventTicket'))).toEqual([])
    expect(missing(undefined, { apple: { preferredStyleSchemes: ['eventTicket'] } })).toEqual([])
  })
})

describe('a primary field over a strip', () => {
  interface Over extends Partial<Design> {
    value?: string
    label?: string
    passType?: PassType
    languages?: DefinitionInput['languages']
    accept?: DefinitionInput['accept']
    variables?: DefinitionInput['variables']
  }

  /** Creates a mosaic in which each cell has the color at its place, in shares of the width and the height. */
  function strip(colorAt: (x: number, y: number) => number[], size = { width: 1125, height: 432 }) {
    const cells = Array.from({ length: MOSAIC.rows * MOSAIC.columns }, (_, n) => {
      const [row, column] = [Math.floor(n / MOSAIC.columns), n % MOSAIC.columns]
      return colorAt((column + 0.5) / MOSAIC.columns, (row + 0.5) / MOSAIC.rows)
    })
    return { ...size, mosaic: Uint8Array.from(cells.flat()) }
  }
  const light = [245, 240, 230, 255]
  const dark = [20, 20, 40, 255]
  const white = { background: '#1a1a2e', foreground: '#ffffff', label: '#ffffff' }

  function warningsOver(pixels: ReturnType<typeof strip>, over: Over = {}) {
    const { value = '20 %', label = 'OFF', passType = 'coupon', languages, accept, variables, ...parts } = over
    const fields = { primary: [{ key: 'offer', label, value }] }
    const design = { colors: white, images: { icon: id, logo: id, strip: id }, fields, ...parts }
    const rest = { ...(languages && { languages }), ...(accept && { accept }), ...(variables && { variables }) }
    const facts = factsOf(design, passType, rest)
    const warnings = lintDefinition({ ...facts, google: null, strips: new Map([[id, pixels]]) })
    return warnings.filter(({ code }) => code === 'strip-contrast-low').map(({ message }) => message)
  }

  test('white text on a light strip is reported with its contrast, and on a dark strip is not', () => {
    expect(warningsOver(strip(() => light))).toEqual([
      expect.stringMatching(/^“20 %” in #ffffff has a contrast of 1\.1\d to the strip, .* 3 for large text/),
      expect.stringMatching(/^“OFF” in #ffffff .* 4\.5 for readable text/),
    ])
    expect(warningsOver(strip(() => dark))).toEqual([])
    expect(
      warningsOver(
        strip(() => dark),
        { colors: { ...white, foreground: '#000000' } },
      ),
    ).toHaveLength(1)
  })

  test('only the area behind the text counts, at the leading edge of the language', () => {
    const darkLeft = strip((x) => (x < 0.6 ? dark : light))
    expect(warningsOver(darkLeft)).toEqual([])
    expect(warningsOver(darkLeft, { languages: { default: 'ar', others: [] } })).toHaveLength(2)
    expect(warningsOver(strip((_, y) => (y > 0.2 && y < 0.8 ? dark : light)))).toEqual([])
  })

  test('up to a quarter of the area can be too light', () => {
    const spotted = (every: number) => {
      let count = 0
      return strip(() => (count++ % every === 0 ? light : dark))
    }
    expect(warningsOver(spotted(5))).toEqual([])
    expect(warningsOver(spotted(3))).toHaveLength(2)
  })

  test('a large value needs a contrast of 3, and a smaller one of 4.5', () => {
    // White on this gray has a contrast of 3.5.
    const gray = strip(() => [136, 136, 136, 255])
    expect(warningsOver(gray, { label: '' })).toEqual([])
    const long = { label: '', value: 'A ticket with a very long name', passType: 'eventTicket' as const }
    expect(warningsOver(gray, long)).toHaveLength(1)
  })

  test('a transparent strip shows the background', () => {
    const clear = strip(() => [255, 255, 255, 0])
    expect(warningsOver(clear)).toEqual([])
    expect(warningsOver(clear, { colors: { ...white, background: '#f0f0f0' } })).toHaveLength(2)
  })

  test('parts of a strip that its frame crops do not count', () => {
    const size = { width: 375, height: 375 }
    const middle = strip((_, y) => (y > 0.4 && y < 0.6 ? light : dark), size)
    expect(warningsOver(middle, { passType: 'eventTicket' })).toHaveLength(2)
    expect(warningsOver(strip((_, y) => (y < 0.3 || y > 0.7 ? light : dark), size))).toEqual([])
  })

  test('checks each state, and only pass types with a strip', () => {
    const foreground = { by: '{{tier}}', map: { gold: '#000000' }, else: '#ffffff' }
    const over = { colors: { ...white, foreground } }
    expect(
      warningsOver(
        strip(() => dark),
        over,
      ),
    ).toEqual([expect.stringMatching(/in #000000 has a contrast of 1\.\d\d .* if the state is gold/)])
    expect(
      warningsOver(
        strip(() => light),
        { passType: 'generic' },
      ),
    ).toEqual([])
  })

  test('the strip of a variable is checked by its example or default, also in a choice', () => {
    const photo = { name: 'photo', label: 'Photo', format: 'image' as const }
    const pixels = strip(() => light)
    const choice = { by: '{{tier}}', map: { gold: '{{photo}}' } }
    for (const images of [{ strip: '{{photo}}' }, { strip: choice }]) {
      const sampled = [{ example: id }, { default: id }]
      for (const sample of sampled) {
        const [message] = warningsOver(pixels, { images, variables: [{ ...photo, ...sample }] })
        expect(message).toContain('to the sample strip')
      }
      expect(warningsOver(pixels, { images, variables: [photo] })).toEqual([])
    }
  })

  test('reads the cells of at most 100 pairs of colors and strips', () => {
    const map = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`k${n}`, `#0000${n + 10}`]))
    const colors = { ...white, foreground: { by: '{{a}}', map }, label: { by: '{{b}}', map } }
    const { mosaic, ...size } = strip(() => dark)
    const cell = vi.spyOn(mosaic, 'subarray')
    warningsOver({ mosaic, ...size }, { colors: white })
    const perPair = cell.mock.calls.length
    expect(perPair).toBeGreaterThan(20)
    cell.mockClear()
    warningsOver({ mosaic, ...size }, { colors, accept: ['contrast-low', 'strip-contrast-low'] })
    expect(cell).toHaveBeenCalledTimes(100 * perPair)
  })
})
