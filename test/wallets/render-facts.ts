import { expect } from 'vitest'
import type { Definition, DefinitionInput, PassType } from '../../src/core/contract/schemas/definition.ts'
import { renderCard } from '../../src/core/rules/display/card.ts'
import { claimClass } from '../../src/core/rules/template/class-key.ts'
import { PassJson } from '../../src/wallets/apple/overrides/pass-json-schema.ts'
import { buildPassJson } from '../../src/wallets/apple/pass-json.ts'
import { checkFields } from '../../src/wallets/google/check-fields.ts'
import { typeOf } from '../../src/wallets/google/fields.ts'
import { createGoogleWallet } from '../../src/wallets/google/google-wallet.ts'
import { kindOf } from '../../src/wallets/google/resource.ts'
import { parseDefinition } from '../support/definitions.ts'
import { at, identity, logo, pass, publicUrl } from './google/samples.ts'

export type Facts = Partial<DefinitionInput> & { values?: Record<string, string> }

const wallet = createGoogleWallet({ identity, publicUrl })
const names =
  'title venue address lat lon doors starts ends section seat flight from departs gate group given platform'.split(' ')

export function define({ values: _, ...parts }: Facts): Definition {
  return parseDefinition({
    variables: names.map((name) => ({ name, label: name })),
    design: { organizationName: 'Harbour', description: 'Ticket', images: { logo } },
    ...parts,
  })
}

/** Renders a pass for both platforms, and checks each result against the rules of its platform. */
export function render(passType: PassType, facts: Facts) {
  const definition = define(facts)
  const scope = new Map(Object.entries({ 'pass.label': 'Ada', ...facts.values }))
  const card = renderCard({ passType, definition, scope, expiresAt: null, voided: false })
  const claim = claimClass(definition, passType, scope)
  const shared = new Map(Object.entries(claim?.values ?? {}))
  const templateCard = renderCard({ passType, definition, scope: shared, expiresAt: null, voided: false })
  const walletPass = { ...pass(), card, templateCard, ...(claim && { classDigest: claim.keyDigest }) }
  const names = { passTypeIdentifier: 'pass.com.example', teamIdentifier: 'TEAM' }
  const apple = JSON.parse(JSON.stringify(buildPassJson(walletPass, names, publicUrl)))
  const [kind, ofClass, object] = [kindOf(card), wallet.classOf(walletPass), wallet.objectOf(walletPass, at)]
  expect(PassJson.safeParse(apple).error?.issues ?? []).toEqual([])
  for (const [type, resource] of [
    ['Class', ofClass],
    ['Object', object],
  ] as const) {
    expect([...checkFields(typeOf(kind, type), resource, { needsLogos: true })]).toEqual([])
  }
  return { apple, kind, ofClass, object, claim }
}

export const text = (value: string) => ({ defaultValue: { language: 'en', value } })

export const flight = {
  mode: 'air',
  carrier: { code: 'TP', name: 'Atlantic' },
  number: '{{flight}}',
  from: {
    code: '{{from}}',
    name: 'Lisbon',
    terminal: '1',
    timeZone: 'Europe/Lisbon',
    latitude: 38.77,
    longitude: -9.13,
  },
  to: { code: 'AMS', name: 'Amsterdam' },
  departsAt: '{{departs}}',
  arrivesAt: '2027-05-20T11:00:00+02:00',
  gate: '{{gate}}',
  seat: '{{seat}}',
  group: '{{group}}',
  confirmation: 'ABC123',
  passenger: { given: '{{given}}', family: 'Lovelace' },
} as const
export const morning = {
  flight: '664',
  from: 'LIS',
  departs: '2027-05-20T06:00:00Z',
  gate: '12',
  seat: '7C',
  group: '2',
  given: 'Ada',
}
