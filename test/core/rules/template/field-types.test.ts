import { expect, test } from 'vitest'
import type { Definition, DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import { renderCard } from '../../../../src/core/rules/display/card.ts'
import { compilePass } from '../../../../src/core/rules/pass/pass-rules.ts'
import { checkDefinition, sampleScope } from '../../../../src/core/rules/template/definition.ts'
import { variablesSchema } from '../../../../src/core/rules/template/variables.ts'
import { parseDefinition } from '../../../support/definitions.ts'

type FieldInput = NonNullable<NonNullable<DefinitionInput['design']['fields']>['header']>[number]

function definitionOf(field: Partial<FieldInput>, parts: Partial<DefinitionInput> = {}, group = 'header'): Definition {
  return parseDefinition({
    variables: [
      { name: 'points', label: 'Points' },
      { name: 'money', label: 'Money' },
    ],
    design: {
      organizationName: 'O',
      description: 'D',
      fields: { [group]: [{ key: 'k', label: 'L', value: '{{points}}', ...field }] },
    },
    ...parts,
  })
}

test.each<[string, Definition, string]>([
  ['a static value of another type', definitionOf({ as: 'number', value: 'many' }), 'fields.header.0.value'],
  ['a value of two variables', definitionOf({ as: 'number', value: '{{points}}{{money}}' }), 'fields.header.0.value'],
  ['a name as a number', definitionOf({ as: 'number', value: '{{pass.label}}' }), 'fields.header.0.value'],
  ['an amount without a currency', definitionOf({ as: 'currency' }), 'fields.header.0.currency'],
  ['an invalid currency', definitionOf({ as: 'currency', currency: 'EURO' }), 'fields.header.0.currency'],
  ['a currency on another type', definitionOf({ as: 'number', currency: 'EUR' }), 'fields.header.0.currency'],
  ['a style on a number', definitionOf({ as: 'number', style: 'long' }), 'fields.header.0.style'],
  ['the alignment of a primary field', definitionOf({ align: 'end' }, {}, 'primary'), 'fields.primary.0.align'],
  ['the alignment of a back field', definitionOf({ align: 'end' }, {}, 'back'), 'fields.back.0.align'],
  [
    'a default of another type',
    definitionOf({ as: 'date' }, { variables: [{ name: 'points', label: 'P', default: 'soon' }] }),
    'variables.0.default',
  ],
  ['points that name no field', definitionOf({}, { google: { points: 'no' } }), 'google.points'],
])('publishing rejects %s, with its path', (_, definition, place) => {
  const paths = checkDefinition(definition).map(({ path }) => path.join('.'))
  expect(paths).toEqual([place.startsWith('fields') ? `design.${place}` : place])
})

test('a date-time can be composed, and the expiry can be in a date', () => {
  expect(checkDefinition(definitionOf({ as: 'dateTime', value: '{{points}}T{{money}}Z' }))).toEqual([])
  const expiring = definitionOf({ as: 'date', value: '{{pass.expiresAt}}' }, { expiresAt: '2030-01-01' })
  expect(checkDefinition(expiring)).toEqual([])
})

test('the variable of a typed field accepts only its kind, in the schema and for creates and updates', () => {
  const definition = definitionOf({ as: 'currency', currency: '{{money}}' })
  const check = compilePass(definition)
  const facts = { id: 'i', externalPassId: 'e', label: 'l', scanCode: 's', templateName: 't', projectName: null }
  const pathsOf = (variables: Record<string, string>) => {
    const result = check({ ...facts, variables })
    return 'issues' in result ? result.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) : []
  }
  expect(pathsOf({ points: '12.50', money: 'EUR' })).toEqual([])
  // A field without a value is not shown.
  expect(pathsOf({ money: 'EUR' })).toEqual([])
  expect(pathsOf({ points: '12,50', money: 'euro' })).toEqual([
    'variables.points: Must be an amount such as 12.50, because a field uses it',
    'variables.money: Must be a currency of ISO 4217, such as EUR, because a field uses it',
  ])
  const { properties, required } = variablesSchema(definition)
  expect(properties.points).toHaveProperty('pattern')
  expect(properties.money).toMatchObject({ enum: expect.arrayContaining(['EUR', 'JPY']) })
  expect(required).toEqual(['money'])
})

test('a sample of a typed field is of its kind', () => {
  const definition = definitionOf({ as: 'currency', currency: '{{money}}' })
  const scope = sampleScope(definition)
  const card = renderCard({ passType: 'generic', definition, scope, expiresAt: null, voided: false })
  expect(card.fields.header[0]).toMatchObject({ value: '€12.50', typed: { text: '12.50', currency: 'EUR' } })
})
