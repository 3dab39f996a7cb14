import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { Definition, DefinitionInput, PassType } from '../../../../src/core/contract/schemas/definition.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { oneDialect } from '../../../support/databases.ts'
import { png } from '../../api/templates/pictures.ts'
import { makePass, makeTemplate } from '../../fixtures.ts'

const { get, update, publish, preview } = contract.templateVersions
const { createVersion } = contract.templates
const design = { organizationName: 'Harbour Cinema', description: 'Ticket' }
const primary = [{ key: 'name', label: 'NAME', value: '{{pass.label}}' }]
const unreadable = { ...design, colors: { foreground: '#ffffff' }, fields: { primary } }

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  async function draft(workspace: TestWorkspace, definition: DefinitionInput, passType: PassType = 'generic') {
    const { id } = await makeTemplate(workspace, { passType })
    return workspace.ok(createVersion, { params: { id }, body: { definition } })
  }
  const codes = ({ warnings }: { warnings: { code: string }[] }) => warnings.map(({ code }) => code)

  test('each response with a definition lists its warnings, and they do not prevent publishing', async () => {
    const workspace = await api.workspace()
    const made = await draft(workspace, { design: unreadable })
    const params = { id: made.id }
    const expected = [
      { code: 'contrast-low', path: ['definition', 'design', 'colors', 'foreground'], message: expect.any(String) },
      { code: 'image-missing', path: ['definition', 'design', 'images', 'icon'], message: expect.any(String) },
    ]
    expect(made.warnings).toEqual(expected)
    const body = { definition: { design: unreadable, accept: ['image-missing' as const] } }
    const answers = [
      await workspace.ok(update, { params, body }),
      await workspace.ok(get, { params }),
      (await workspace.ok(preview, { params })) as unknown as typeof made,
      await workspace.ok(publish, { params }),
      await workspace.ok(get, { params }),
    ]
    for (const answer of answers) expect(answer.warnings).toEqual(expected.slice(0, 1))
    expect(answers.at(-1)!.stage).toBe('published')
    expect(answers.at(-1)!.definition.accept).toEqual(['image-missing'])
  })

  test('the preview page shows the warnings', async () => {
    const workspace = await api.workspace()
    const { id } = await draft(workspace, { design: unreadable })
    const { bytes } = await workspace.call(preview, { params: { id }, query: { format: 'html' } })
    expect(new TextDecoder().decode(bytes)).toMatch(/<strong>contrast-low<\/strong>.*design\.colors\.foreground/)
  })

  test('warns about the barcode of an override whose scans find no pass, and draws it', async () => {
    const workspace = await api.workspace()
    const variables = [{ name: 'number', label: 'Number', example: '4006381333931' }]
    const withCode = (message: string): DefinitionInput => ({
      variables,
      design: { ...design, barcode: { message: '{{number}}' } },
      apple: { barcodes: [{ format: 'PKBarcodeFormatEAN13', message, messageEncoding: 'iso-8859-1' }] },
      google: { object: { barcode: { type: 'EAN_13', value: message } } },
      accept: ['image-missing', 'google-front-empty'],
    })
    const other = await draft(workspace, withCode('0012345678905'))
    expect(other.warnings.map(({ code, path }) => `${code} ${path.slice(1).join('.')}`)).toEqual([
      'barcode-unmatched apple.barcodes',
      'barcode-unmatched google.object.barcode',
    ])
    expect((await draft(workspace, withCode('{{number}}'))).warnings).toEqual([])
    const { bytes } = await workspace.call(preview, { params: { id: other.id }, query: { format: 'html' } })
    expect(new TextDecoder().decode(bytes).split('EAN-13 barcode')).toHaveLength(3)
  })

  test('checks overrides as phones receive them', async () => {
    const workspace = await api.workspace()
    const secondaryFields = Array.from({ length: 5 }, (_, n) => ({ key: `f${n}`, value: 'B7' }))
    const apple = { labelColor: 'rgb(255, 255, 255)', coupon: { secondaryFields } }
    const made = await draft(workspace, { design: { ...design, fields: { primary } }, apple }, 'coupon')
    expect(made.warnings.map(({ code, path }) => `${code} ${path.slice(1).join('.')}`)).toEqual([
      'contrast-low apple.labelColor',
      'fields-over apple.coupon.secondaryFields',
      'image-missing design.images.icon',
    ])
  })

  test('reads the strip of the design, which the upload measured', async () => {
    const workspace = await api.workspace()
    const uploadStrip = async (background: string) => {
      const body = await sharp({ create: { width: 1125, height: 432, channels: 3, background } })
        .png()
        .toBuffer()
      return (await workspace.ok(contract.images.create, { body, contentType: 'image/png' })).id
    }
    const colors = { background: '#1a1a2e', foreground: '#ffffff', label: '#ffffff' }
    const fields = { primary: [{ key: 'offer', label: 'OFF', value: '20 %' }] }
    const [light, dark] = [await uploadStrip('#f5f0e6'), await uploadStrip('#14142a')]
    const warningsWith = async (strip: string) =>
      (await draft(workspace, { design: { ...design, colors, images: { icon: dark, strip }, fields } }, 'coupon'))
        .warnings
    const path = ['definition', 'design', 'images', 'strip']
    expect(await warningsWith(light)).toMatchObject([
      { code: 'strip-contrast-low', path },
      { code: 'strip-contrast-low', path },
    ])
    expect(await warningsWith(dark)).toEqual([])
    const variables = [{ name: 'photo', label: 'Photo', format: 'image' as const, example: light }]
    const images = { icon: dark, strip: '{{photo}}' }
    const made = await draft(workspace, { variables, design: { ...design, colors, images, fields } }, 'coupon')
    expect(codes(made)).toEqual(['strip-contrast-low', 'strip-contrast-low'])
  })

  test('an image is too small if it fills neither side of its area', async () => {
    const workspace = await api.workspace()
    const { id } = await workspace.ok(contract.images.create, { body: await png(), contentType: 'image/png' })
    const made = await draft(workspace, { design: { ...design, images: { icon: id, strip: id }, fields: { primary } } })
    // A generic pass shows no strip.
    expect(codes(made)).toEqual(['image-small'])
  })

  test('names each field of the front that has no space in Google Wallet, unless google.rows chooses', async () => {
    const workspace = await api.workspace()
    const groups = ['header', 'primary', 'secondary', 'auxiliary']
    const fields = Object.fromEntries(groups.map((key) => [key, [{ key, label: key, value: 'x' }]]))
    const made = await draft(workspace, { design: { ...design, fields } }, 'eventTicket')
    expect(made.warnings.find(({ code }) => code === 'google-field-hidden')?.path).toEqual([
      'definition',
      'design',
      'fields',
      'auxiliary',
      0,
    ])
    const google = { rows: [['auxiliary'], ['header']] }
    expect(codes(await draft(workspace, { design: { ...design, fields }, google }, 'eventTicket'))).not.toContain(
      'google-field-hidden',
    )
    const { id } = await draft(workspace, {
      design: { ...design, fields },
      google: { rows: [['auxiliary', 'auxiliary', 'gate']] },
    })
    const { status, body } = await workspace.call(publish, { params: { id } })
    expect([status, JSON.stringify(body)]).toEqual([
      400,
      expect.stringMatching(/Duplicate field auxiliary.*Unknown field gate/),
    ])
  })

  test.each<[string, DefinitionInput]>([
    ['an unknown placeholder', { design: { ...design, logoText: '{{nobody}}' } }],
    [
      'more than can be rendered',
      {
        design: { ...design, description: '{{v}}'.repeat(9) },
        variables: [{ name: 'v', label: 'V', example: 'v'.repeat(9000) }],
      },
    ],
    [
      'overrides of any shape',
      {
        design,
        apple: { coupon: [], generic: { headerFields: 7 }, logoText: 5 },
        google: { class: { classTemplateInfo: 3 }, object: { textModulesData: 'x', barcode: 1 } },
      },
    ],
    ['a missing image', { design: { ...design, images: { logo: '018f2f5e-7c1a-7000-8000-0123456789ab' } } }],
  ])('returns a draft with an error: %s', async (_, definition) => {
    const made = await draft(await api.workspace(), definition)
    expect(Array.isArray(made.warnings)).toBe(true)
  })

  test.each(['conference', 'loyalty', 'coupon', 'boarding-pass'])(
    'the %s example is published without a warning, and Google accepts its passes',
    async (example) => {
      const workspace = await api.workspace()
      const folder = join(import.meta.dirname, '../../../../examples', example)
      const { passType, definition } = JSON.parse(await readFile(join(folder, 'template.json'), 'utf8'))
      const texts = JSON.stringify(definition.design.images)
      let images = texts
      for (const path of new Set(texts.match(/images\/[\w-]+\.png/g))) {
        const body = await readFile(join(folder, path))
        const image = await workspace.ok(contract.images.create, { body, contentType: 'image/png' })
        images = images.replaceAll(`"${path}"`, `"${image.id}"`)
      }
      const { id, templateId } = await draft(
        workspace,
        { ...definition, design: { ...definition.design, images: JSON.parse(images) } },
        passType,
      )
      expect((await workspace.ok(publish, { params: { id } })).warnings).toEqual([])
      expect(definition.accept).toBeUndefined()
      const examples = (definition as Definition).variables.map(({ name, example }) => [name, example])
      const pass = await makePass(workspace, templateId, { variables: Object.fromEntries(examples) })
      // The emulator checks the complete class and object, and fetches every logo of a server with an https address.
      const opened = await api.send('GET', new URL(pass.hostedLinks.google!).pathname)
      expect(opened.status, opened.text).toBe(302)
      await api.runJobs()
      const { lastError } = await workspace.ok(contract.passes.wallets, { params: { id: pass.id } })
      expect(lastError).toBeNull()
      expect((await workspace.ok(get, { params: { id } })).lastError).toBeNull()
    },
  )
})
