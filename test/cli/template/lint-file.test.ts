import { expect, test } from 'vitest'
import { draftOf } from '../../../src/cli/template/template-file.ts'
import type { DefinitionInput } from '../../../src/core/contract/schemas/definition.ts'
import { warningsOf } from '../../../src/server/pages/template-dev/content.ts'
import { parseDefinition } from '../../support/definitions.ts'

const icon = '00000000-0000-0000-0000-000000000000'
const field = (value: string) => ({ key: 'seat', label: 'Seat', value })

function codesOf(design: Partial<DefinitionInput['design']>, rest: Partial<DefinitionInput> = {}) {
  const definition = parseDefinition({
    variables: [{ name: 'seat', label: 'Seat', maxLength: 4 }],
    design: { organizationName: 'Fair', description: 'Ticket', images: { icon }, ...design },
    ...rest,
  })
  const file = { definition, passType: 'eventTicket' as const, images: [], withImages: () => definition }
  return warningsOf(draftOf(file), new Date(0)).map(({ code }) => code)
}

test('warns with the rules of the server about a file that iPhones or Google would show badly', () => {
  const primary = [field('{{seat}}')]
  const pale = { colors: { foreground: '#ffffff' }, fields: { primary } }
  expect(codesOf({ fields: { primary } })).toEqual([])
  expect(codesOf({ ...pale, images: {} })).toEqual(['contrast-low', 'image-missing'])
  expect(codesOf(pale, { apple: { backgroundColor: 'rgb(0, 0, 0)', labelColor: 'rgb(255, 255, 255)' } })).toEqual([])
  expect(codesOf(pale, { accept: ['contrast-low'] })).toEqual([])
  expect(codesOf({})).toEqual(['google-front-empty'])
  expect(codesOf({ fields: { primary: [field('W'.repeat(60))] } })).toEqual(['text-cut'])
})
