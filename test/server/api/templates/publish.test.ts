import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { ErrorBody } from '../../../../src/core/contract/schemas/common.ts'
import type { DefinitionInput, PassType } from '../../../../src/core/contract/schemas/definition.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { oneDialect } from '../../../support/databases.ts'
import { definition, makeTemplate } from '../../fixtures.ts'
import { png } from './pictures.ts'

const { publish } = contract.templateVersions
const design = { organizationName: 'O', description: 'D' }
const id = '018f2f5e-7c1a-7000-8000-0123456789ab'

interface Issue {
  path: (string | number)[]
  message: string
}

async function tryPublish(workspace: TestWorkspace, content: DefinitionInput, passType: PassType = 'generic') {
  const template = await makeTemplate(workspace, { passType })
  const body = { definition: content }
  const draft = await workspace.ok(contract.templates.createVersion, { params: { id: template.id }, body })
  const { status, body: answer } = await workspace.call(publish, { params: { id: draft.id } })
  const { errorCode, details } = answer as ErrorBody
  const issues = ((details?.issues ?? []) as Issue[]).map(({ path, message }) => `${path.join('.')}: ${message}`)
  const { stage } = await workspace.ok(contract.templateVersions.get, { params: { id: draft.id } })
  return { status, errorCode, issues, stage }
}

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  test.each<[string, DefinitionInput, RegExp]>([
    [
      'an unknown placeholder',
      { design: { ...design, fields: { primary: [{ key: 'a', value: 'Hi {{nmae}}' }] } } },
      /^definition\.design\.fields\.primary\.0\.value: .*\{\{nmae\}\}/,
    ],
    [
      'an unknown placeholder in the overrides of a platform',
      { design, google: { object: { linkedObjectIds: ['{{gone}}'] } } },
      /^definition\.google\.object\.linkedObjectIds\.0: .*\{\{gone\}\}/,
    ],
    [
      'a duplicate field key',
      { design: { ...design, fields: { header: [{ key: 'a', value: '' }], back: [{ key: 'a', value: '' }] } } },
      /^definition\.design\.fields\.back\.0\.key: .* a\./,
    ],
    [
      'a duplicate variable',
      { design, variables: [1, 2].map(() => ({ name: 'v', label: 'V' })) },
      /^definition\.variables\.1\.name: .* v /,
    ],
    ['a missing image', { design: { ...design, images: { logo: id } } }, /^definition\.design\.images\.logo: /],
    ['an expiry that is not a time', { design, expiresAt: 'next week' }, /^definition\.expiresAt: /],
  ])('rejects publishing for %s, with its path', async (_, content, expected) => {
    const answer = await tryPublish(await api.workspace(), content)
    expect(answer).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR', stage: 'draft' })
    expect(answer.issues).toEqual([expect.stringMatching(expected)])
  })

  test('all errors are reported at once', async () => {
    const answer = await tryPublish(await api.workspace(), {
      design: { ...design, logoText: '{{a}}', images: { logo: id, hero: id } },
      expiresAt: '{{b}}',
    })
    expect(answer.issues.map((issue) => issue.split(':')[0]).sort()).toEqual([
      'definition.design.images.hero',
      'definition.design.images.logo',
      'definition.design.logoText',
      'definition.expiresAt',
    ])
  })

  test('values that a platform would reject are reported before a pass exists', async () => {
    const workspace = await api.workspace()
    // Apple refuses a boarding pass without a kind of transit, Google a flight without a flight number.
    const apple = await tryPublish(workspace, { design, apple: { boardingPass: { transitType: 7 } } }, 'boardingPass')
    expect(apple).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR', stage: 'draft' })
    expect(apple.issues).toEqual([
      'definition.apple.boardingPass.transitType: Must be a string',
      'definition.google.class.logo: Google requires a logo that all passes share: give the design an icon or a logo with a fixed image, a default, or an else',
    ])
    const google = await tryPublish(workspace, { design, google: { kind: 'flight' } }, 'boardingPass')
    expect(google).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR', stage: 'draft' })
    expect(google.issues).toContain('definition.google.class.flightHeader: Google requires this field in a FlightClass')
  })

  test.each<[string, DefinitionInput['google'], PassType, string]>([
    ['an unknown field', { class: { eventname: {} } }, 'eventTicket', 'class.eventname: '],
    ['a wrong type', { object: { loyaltyPoints: '12' } }, 'storeCard', 'object.loyaltyPoints: Must be an object'],
    [
      'an unknown enum value',
      { class: { redemptionChannel: 'SHOP' } },
      'coupon',
      'class.redemptionChannel: Must be one of ',
    ],
    ['an invalid color', { object: { hexBackgroundColor: 'red' } }, 'generic', 'object.hexBackgroundColor: '],
    [
      'a color that its kind does not have',
      { class: { hexBackgroundColor: '#fff' } },
      'generic',
      'class.hexBackgroundColor: ',
    ],
    [
      'an empty required value',
      { class: { venue: { name: { defaultValue: { language: 'en', value: '' } } } } },
      'eventTicket',
      'class.venue.name.defaultValue.value: ',
    ],
    ['a required field that is removed', { class: { eventName: null } }, 'eventTicket', 'class.eventName: '],
    [
      'micros that are not an integer',
      { kind: 'giftCard', object: { balance: { micros: '12.5' } } },
      'generic',
      'object.balance.micros: ',
    ],
    [
      'a duplicate module ID',
      { object: { textModulesData: [{ id: 'a' }, { id: 'a' }] } },
      'generic',
      'object.textModulesData.1.id: ',
    ],
    ['a required logo', undefined, 'storeCard', 'class.programLogo: Google requires a logo'],
    ["a holder's value in the class", { class: { countryCode: '{{pass.label}}' } }, 'coupon', 'class.countryCode: '],
  ])('rejects publishing for %s that Google would reject, with its path', async (_, google, passType, expected) => {
    const answer = await tryPublish(await api.workspace(), { design, google }, passType)
    expect(answer).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR', stage: 'draft' })
    expect(answer.issues.join()).toContain(`definition.google.${expected}`)
  })

  test.each<[string, DefinitionInput, PassType, RegExp]>([
    [
      'removes a required key',
      { design, apple: { organizationName: null } },
      'generic',
      /^definition\.apple\.organizationName: Is required$/,
    ],
    [
      'empties a required text',
      { design, apple: { description: '' } },
      'generic',
      /^definition\.apple\.description: Must not be empty$/,
    ],
    [
      'has a logo only in a state of the pass',
      {
        variables: [{ name: 'tier', label: 'Tier', example: 'gold' }],
        design: { ...design, images: { logo: { by: '{{tier}}', map: { gold: 'ID' } } } },
      },
      'storeCard',
      /^definition\.google\.class\.programLogo: Google requires a logo/,
    ],
  ])(
    'rejects publishing a definition that %s, because no pass of it could be issued',
    async (_, content, type, issue) => {
      const workspace = await api.workspace()
      const image = await workspace.ok(contract.images.create, { body: await png(), contentType: 'image/png' })
      const withImage = JSON.parse(JSON.stringify(content).replace('"ID"', `"${image.id}"`)) as DefinitionInput
      const { status, issues } = await tryPublish(workspace, withImage, type)
      expect({ status, issues }).toEqual({ status: 400, issues: [expect.stringMatching(issue)] })
    },
  )

  test('accepts a variable of unknown content where Google requires a specific value', async () => {
    const variables = [{ name: 'cents', label: 'Cents' }]
    const google = { kind: 'giftCard' as const, object: { balance: { micros: '{{cents}}', currencyCode: 'EUR' } } }
    const workspace = await api.workspace()
    expect(await tryPublish(workspace, { design, google, variables })).toMatchObject({ status: 200 })
    const example = variables.map((variable) => ({ ...variable, example: '12.5' }))
    const { issues } = await tryPublish(workspace, { design, google, variables: example })
    expect(issues).toEqual([expect.stringMatching(/^definition\.google\.object\.balance\.micros: /)])
  })

  test('reports an item after an empty item at its own path, and accepts its variable', async () => {
    const variables = [{ name: 'address', label: 'Address' }]
    const withUri = (uri: string) => {
      const uris = [{ uri: '', description: 'Left out' }, { uri }]
      return { design, variables, google: { object: { linksModuleData: { uris } } } }
    }
    const workspace = await api.workspace()
    expect(await tryPublish(workspace, withUri('{{address}}'))).toMatchObject({ status: 200 })
    const { issues } = await tryPublish(workspace, withUri('https://'))
    expect(issues).toEqual([expect.stringMatching(/^definition\.google\.object\.linksModuleData\.uris\.1\.uri: /)])
  })

  test.each<[string, DefinitionInput['apple'] & object, string]>([
    ['number', { associatedStoreIdentifiers: ['', '{{number}}'] }, 'associatedStoreIdentifiers.1'],
    [
      'field',
      {
        generic: {
          backFields: [
            { key: 'gone', value: '' },
            { key: 'kept', value: 'K', row: '{{number}}' },
          ],
        },
      },
      'generic.backFields.1.row',
    ],
  ])(
    "reports an item after an empty %s of Apple's at its own path, and accepts its variable",
    async (_, apple, path) => {
      const variables = [{ name: 'number', label: 'Number' }]
      const workspace = await api.workspace()
      expect(await tryPublish(workspace, { design, variables, apple })).toMatchObject({ status: 200 })
      const known = variables.map((variable) => ({ ...variable, example: 'none' }))
      const { issues } = await tryPublish(workspace, { design, variables: known, apple })
      expect(issues.map((issue) => issue.split(': ')[0])).toEqual([`definition.apple.${path}`])
    },
  )

  test('rejects a text of a class that consists of the name of a project that the template lacks', async () => {
    const google = { kind: 'eventTicket' as const, class: { issuerName: '{{project.name}}' } }
    const { issues } = await tryPublish(await api.workspace(), { design, google })
    expect(issues).toEqual(['definition.google.class.issuerName: Google requires a value that is not empty'])
  })

  test.each(['generic', 'eventTicket', 'storeCard', 'coupon', 'boardingPass'] as const)(
    'a plain %s is published for both platforms, with its images',
    async (passType) => {
      const workspace = await api.workspace()
      const image = await workspace.ok(contract.images.create, { body: await png(), contentType: 'image/png' })
      const content = definition()
      const images = { icon: image.id, logo: image.id, strip: image.id, hero: image.id }
      const answer = await tryPublish(workspace, { ...content, design: { ...content.design, images } }, passType)
      expect(answer).toMatchObject({ status: 200, stage: 'published' })
    },
  )

  test('rejects a definition that does not match the schema when the draft is written, with its path', async () => {
    const workspace = await api.workspace()
    const template = await makeTemplate(workspace)
    const bad = {
      variables: [{ name: '1st', label: '' }],
      design: { ...design, colors: { background: 'red' }, fields: { primary: [{ key: 'a b', value: 1 }] }, extra: 1 },
      apple: { serialNumber: 'mine' },
      google: { object: { id: 'mine' } },
      redemption: { maxUses: 0 },
    }
    const answer = await workspace.send('POST', `/v1/templates/${template.id}/versions`, { body: { definition: bad } })
    const { issues } = (answer.body as ErrorBody).details as { issues: Issue[] }
    expect(issues.map(({ path }) => path.join('.')).sort()).toEqual([
      'definition.apple.serialNumber',
      'definition.design.colors.background',
      'definition.design.extra',
      'definition.design.fields.primary.0.key',
      'definition.design.fields.primary.0.value',
      'definition.google.object.id',
      'definition.redemption.maxUses',
      'definition.variables.0.label',
      'definition.variables.0.name',
    ])
  })
})
