import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { Pass } from '../../../../src/core/contract/passes.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects } from '../../../support/databases.ts'
import { times } from '../../../support/long.ts'
import { makePass, publishedTemplate } from '../../fixtures.ts'
import { change, traces } from './pass-changes.ts'

/** One declaration of each kind: optional, with a default, required, and required with a default. */
const declared = [
  { name: 'plain', label: 'Plain', maxLength: 5 },
  { name: 'tier', label: 'Tier', default: 'Green' },
  { name: 'seat', label: 'Seat', required: true },
  { name: 'zone', label: 'Zone', required: true, default: 'North' },
]

const definition = {
  variables: declared,
  design: {
    organizationName: 'O',
    description: 'D',
    fields: { secondary: declared.map(({ name }) => ({ key: name, value: `{{${name}}}` })) },
  },
}

interface Command {
  label?: string
  variables?: Record<string, unknown>
  dryRun: boolean
}

/** A short, independent implementation of the specification for one pass. */
class Model {
  label = 'Ada'
  revision = 1
  events = 1
  variables = new Map<string, unknown>([['seat', 'A1']])

  /** Returns the expected status. Only an accepted change of a value changes the model. */
  apply({ label, variables = {}, dryRun }: Command): number {
    const merged = new Map(this.variables)
    for (const [name, value] of Object.entries(variables)) {
      if (name.includes('.')) return 400
      if (value === null) merged.delete(name)
      else merged.set(name, value)
    }
    const isSound = declared.every(({ name, required, maxLength, default: fallback }) => {
      if (!merged.has(name)) return !required || fallback !== undefined
      const value = merged.get(name)
      return typeof value === 'string' && (maxLength === undefined || [...value].length <= maxLength)
    })
    if (!isSound) return 400
    if (dryRun || (label === undefined && Object.keys(variables).length === 0)) return 200
    this.events += 1
    if ((label ?? this.label) !== this.label || sorted(merged) !== sorted(this.variables)) this.revision += 1
    this.label = label ?? this.label
    this.variables = merged
    return 200
  }

  /** Returns the value that the field of a declared variable shows. */
  shown(name: string): string {
    const fallback = declared.find((variable) => variable.name === name)!.default ?? ''
    return String(this.variables.get(name) ?? fallback)
  }
}

const names = fc.constantFrom('plain', 'tier', 'seat', 'zone', 'free', 'other', 'constructor', 'a.b')
const values = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<unknown>(null, 'x', 'Gold', '') },
  { weight: 1, arbitrary: fc.constantFrom<unknown>('longer', '😀😀😀😀😀', 5, true, [null], { a: null }, -0) },
)

const commands = fc.array(
  fc.record(
    {
      label: fc.constantFrom('Ada', 'Grace', '😀'),
      variables: fc.dictionary(names, values, { maxKeys: 3 }),
      dryRun: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    },
    { requiredKeys: ['dryRun'] },
  ),
  { minLength: 1, maxLength: 6 },
)

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)

  test('a sequence of any changes gives the result of a reference model', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace, { definition })
    await fc.assert(
      fc.asyncProperty(commands, async (sequence) => {
        const model = new Model()
        const { id } = await makePass(workspace, template.id, { label: model.label, variables: { seat: 'A1' } })
        await api.runJobs()
        for (const command of sequence) {
          const { dryRun, ...body } = command
          const answer = await change(workspace, id, body as never, { dryRun })
          expect(answer.status, JSON.stringify(command)).toBe(model.apply(command))
          await expectAgreement(workspace, id, model)
        }
      }),
      { numRuns: times(5, 200) },
    )
  })
})

async function expectAgreement(workspace: TestWorkspace, id: string, model: Model): Promise<void> {
  const params = { id }
  const pass = (await workspace.ok(contract.passes.get, { params })) as Pass
  const { label, revision } = model
  expect(pass).toMatchObject({ label, revision, status: 'ISSUED' })
  expect(pass.variables).toEqual(JSON.parse(JSON.stringify(Object.fromEntries(model.variables))))
  const { pass: row, variables, events } = await traces(workspace, id)
  expect(events).toHaveLength(model.events)
  expect(row.wallet_version).toBe(revision)
  expect(variables.map(({ name }) => name).toSorted()).toEqual([...model.variables.keys()].toSorted())
  const preview = await workspace.ok(contract.passes.preview, { params, query: { platform: 'apple' } })
  const fields = (preview as unknown as { apple: { generic: { secondaryFields: { value: string }[] } } }).apple.generic
  expect(fields.secondaryFields.map(({ value }) => value)).toEqual(
    declared.map(({ name }) => model.shown(name)).filter((value) => value.trim() !== ''),
  )
}

function sorted(variables: Map<string, unknown>): string {
  return JSON.stringify([...variables].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
