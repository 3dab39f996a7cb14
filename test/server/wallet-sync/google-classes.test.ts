import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { Pass } from '../../../src/core/contract/passes.ts'
import type { DefinitionInput, GoogleKind } from '../../../src/core/contract/schemas/definition.ts'
import { readGoogleView } from '../../../src/core/rules/display/google-view.ts'
import { erasePass } from '../../../src/server/operator/erase-pass.ts'
import type { PhoneView } from '../../../src/wallets/sandbox/google/google-server.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { definition, makePass, publishedTemplate, publishVersion } from '../fixtures.ts'

const showing = (...keys: string[]) =>
  definition({
    design: {
      organizationName: 'Harbour Cinema',
      description: 'Ticket',
      fields: { secondary: keys.map((key) => ({ key, label: key, value: `{{pass.label}} ${key}` })) },
    },
  })
const ofKind = (kind: GoogleKind): DefinitionInput => ({ ...showing('seat'), google: { kind } })

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)

  /** Opens the link of a pass, so that Google has it. Returns the IDs in the save link. */
  async function open({ hostedLinks }: Pass) {
    const answer = await api.send('GET', new URL(hostedLinks.google!).pathname)
    expect(answer.status, answer.text).toBe(302)
    const [, claims] = answer.headers.get('location')!.split('/').at(-1)!.split('.')
    const { payload } = JSON.parse(Buffer.from(claims!, 'base64url').toString())
    const [[list, [named]]] = Object.entries(payload) as [[string, { id: string; classId: string }[]]]
    return { kind: list.replace(/Objects$/, '') as GoogleKind, ...named! }
  }

  /** Returns the content of a saved object on a phone. */
  async function shown({ kind, id }: { kind: GoogleKind; id: string }) {
    const { object, class: ofClass } = (await (
      await fetch(`${api.googleUrl}/objects/${kind}/${id}`)
    ).json()) as PhoneView
    const { rows, state } = readGoogleView(ofClass, object)
    const text = JSON.stringify([object, ofClass])
    return { classId: object.classId, rows: rows.flat().map(({ value }) => value), state, text }
  }

  const suffixOf = (id: string) => id.slice(id.indexOf('.') + 1)
  const issuerOf = (id: string) => id.slice(0, id.indexOf('.'))
  const upgrade = (workspace: TestWorkspace, { id }: Pass) =>
    workspace.ok(contract.passes.update, { params: { id }, body: { templateVersion: 'latest' } })
  const installedAt = async (workspace: TestWorkspace, { id }: Pass) =>
    (await workspace.ok(contract.passes.wallets, { params: { id } })).google?.installedAt ?? null
  const callback = (id: string, change: 1 | -1) =>
    api.services.store.transaction((tx) => tx.googleObjects.addHolders(suffixOf(id), change, api.now))

  test('phones with passes of version 1 keep showing version 1 if version 2 has other rows', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace, { definition: showing('seat', 'row') })
    const passes = [await makePass(workspace, template.id, { label: 'A' }), await makePass(workspace, template.id)]
    const [stays, moves] = [await open(passes[0]!), await open(passes[1]!)]
    expect(suffixOf(stays.id)).toBe(`${passes[0]!.id}-generic`)
    expect([stays.classId, moves.classId].map(suffixOf)).toEqual(Array(2).fill(`template-${template.id}-v1-generic`))
    const before = await shown(stays)
    expect(before.rows).toEqual(['A seat', 'A row'])

    await publishVersion(workspace, template.id, showing('gate', 'block', 'door'))
    await api.runJobs()
    const late = await open(await makePass(workspace, template.id, { label: 'C' }))
    await upgrade(workspace, passes[1]!)
    await api.runJobs()
    expect(await shown(stays)).toEqual(before)
    expect((await shown(late)).rows).toEqual(['C gate', 'C block', 'C door'])
    // The same object, in its new class.
    expect(await shown(moves)).toMatchObject({
      classId: `${issuerOf(moves.id)}.template-${template.id}-v2-generic`,
      rows: ['Ada Lovelace gate', 'Ada Lovelace block', 'Ada Lovelace door'],
    })
    expect(await open(passes[1]!)).toEqual({ ...moves, classId: late.classId })
    // The pass of the old version still shows its fields.
    await workspace.ok(contract.passes.update, { params: { id: passes[0]!.id }, body: { label: 'B' } })
    await api.runJobs()
    expect(await shown(stays)).toMatchObject({ classId: before.classId, rows: ['B seat', 'B row'] })
  })

  test('a version of another kind gives its passes a new object, and the old one expires', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace, { definition: ofKind('generic') })
    const pass = await makePass(workspace, template.id, { label: 'Grace Hopper' })
    const old = await open(pass)
    await callback(old.id, 1)
    await publishVersion(workspace, template.id, ofKind('offer'))
    await upgrade(workspace, pass)
    await api.runJobs()
    const next = await open(pass)
    expect([next.kind, suffixOf(next.id)]).toEqual(['offer', `${pass.id}-offer`])
    expect([(await shown(old)).state, (await shown(next)).state]).toEqual(['EXPIRED', 'ACTIVE'])
    // A phone with the old object does not have the pass.
    expect(await installedAt(workspace, pass)).toBeNull()
    await callback(next.id, 1)
    await callback(old.id, 1)
    await callback(old.id, -1)
    expect(await installedAt(workspace, pass)).toBe(api.now.toISOString())

    await publishVersion(workspace, template.id, ofKind('generic'))
    await upgrade(workspace, pass)
    await api.runJobs()
    expect(await open(pass)).toEqual({ ...old, classId: old.classId.replace('-v1-', '-v3-') })
    expect([(await shown(old)).state, (await shown(next)).state]).toEqual(['ACTIVE', 'EXPIRED'])
    expect(await installedAt(workspace, pass)).toBe(api.now.toISOString())

    const { store } = api.services
    await erasePass({ store, database: api.database }, workspace.id, pass.id, api.now)
    await api.runJobs()
    for (const object of [old, next]) {
      const { text, state } = await shown(object)
      expect(text).not.toContain('Hopper')
      expect(state).toBe(object === old ? 'INACTIVE' : 'EXPIRED')
    }
  })

  test('opening a link before an update of the kind leaves no valid object of the old kind', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace, { definition: ofKind('generic') })
    const pass = await makePass(workspace, template.id)
    const old = await open(pass)
    await publishVersion(workspace, template.id, ofKind('giftCard'))
    await upgrade(workspace, pass)
    const next = await open(pass)
    expect([(await shown(old)).state, (await shown(next)).state]).toEqual(['EXPIRED', 'ACTIVE'])
    await api.runJobs()
    expect(await open(pass)).toEqual(next)
  })
})
