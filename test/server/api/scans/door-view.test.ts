import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import { evaluateOffline } from '../../../../src/core/rules/door/evaluate-offline.ts'
import { useApi } from '../../../support/api.ts'
import { oneDialect } from '../../../support/databases.ts'
import { definition, makeProject, makeTemplate } from '../../fixtures.ts'
import { scan, scannable, scannablePass } from './scan-support.ts'

const variables = [
  ...scannable().variables!,
  { name: 'requests', label: 'Requests' },
  { name: 'badge', label: 'Badge' },
]
const parts = (door: DefinitionInput['door']): Partial<DefinitionInput> => ({ variables, ...(door && { door }) })

describe.each(oneDialect)('the door view, on %s', (dialect) => {
  const api = useApi(dialect)

  test('is in every scan response and in the snapshot, with the current content of the pass', async () => {
    const workspace = await api.workspace()
    const project = await makeProject(workspace)
    const door = { show: ['requests', 'tier', 'badge'], notice: 'Hand out the {{badge}} badge to {{pass.label}}' }
    const pass = await scannablePass(workspace, { projectId: project.id, parts: parts(door) })
    await scannablePass(workspace, { projectId: project.id, parts: parts(undefined) })
    const body = { variables: { badge: 'red', requests: `vegan ${'x'.repeat(600)}` } }
    await workspace.ok(contract.passes.update, { params: { id: pass.id }, body })

    const view = {
      fields: [
        { label: 'Requests', value: `vegan ${'x'.repeat(493)}…` },
        { label: 'Tier', value: 'Green' },
        { label: 'Badge', value: 'red' },
      ],
      notice: 'Hand out the red badge to Ada Lovelace',
    }
    const first = await scan(workspace, { qrPayload: pass.code, externalRef: 'one' })
    const again = await scan(workspace, { qrPayload: pass.code, externalRef: 'one' })
    const second = await scan(workspace, { qrPayload: pass.code })
    expect([first, again, second].map(({ reasonCode }) => reasonCode)).toEqual(['valid', 'valid', 'already_scanned'])
    for (const answer of [first, again, second]) expect(answer.pass!.door).toEqual(view)

    const other = await scannablePass(workspace, { projectId: project.id, code: pass.code, parts: parts({}) })
    const { candidates } = await scan(workspace, { qrPayload: pass.code })
    expect(candidates.map(({ id, door: shown }) => [id, shown])).toEqual([
      [pass.id, view],
      [other.id, { fields: [], notice: null }],
    ])

    const { items } = await workspace.ok(contract.scanner.snapshot, { query: { projectId: project.id } })
    expect(items.map((item) => item.door)).toEqual([view, undefined, { fields: [], notice: null }])
    expect(Object.keys(items[1]!)).not.toContain('door')

    const [item] = items
    const attempt = {
      payload: null,
      passId: pass.id,
      externalRef: 'r',
      at: api.now,
      scanContextKey: null,
      validityDate: null,
    }
    const { outcome } = evaluateOffline(attempt, {
      snapshotId: pass.id,
      matches: { items: [item!], isStale: false },
      members: [],
      acceptedScansOf: () => [],
      unsentUsesOf: () => 0,
      station: { projectId: project.id, deviceId: undefined, context: {} },
    })
    expect(outcome.door).toEqual(view)
  })

  test.each([
    ['an unknown variable', { show: ['sat'] }, ['definition', 'door', 'show', 0], 'Unknown variable sat'],
    ['a repeated variable', { show: ['seat', 'seat'] }, ['definition', 'door', 'show', 1], 'Duplicate variable'],
    ['a system variable', { show: ['pass.label'] }, ['definition', 'door', 'show', 0], 'Must be a letter'],
    ['an unknown placeholder', { notice: '{{sat}}' }, ['definition', 'door', 'notice'], 'Unknown placeholder'],
    ['another key', { hide: ['seat'] }, ['definition', 'door', 'hide'], 'Unknown property'],
  ])('rejects %s with its path', async (_, door, path, message) => {
    const workspace = await api.workspace()
    const template = await makeTemplate(workspace)
    const made = await workspace.call(contract.templates.createVersion, {
      params: { id: template.id },
      body: { definition: definition(parts(door as DefinitionInput['door'])) },
    })
    const id = (made.body as { id: string }).id
    const answer =
      made.status === 201 ? await workspace.call(contract.templateVersions.publish, { params: { id } }) : made
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.body)).toContain(message)
    expect(JSON.stringify(answer.body)).toContain(`"path":${JSON.stringify(path)}`)
  })
})
