import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { ErrorBody } from '../../../src/core/contract/schemas/common.ts'
import { sandboxIdentities, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { definition, issuedPass, makeTemplate } from '../fixtures.ts'

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const objectId = (passId: string) => `${sandboxIdentities().google!.issuerId}.${passId}-generic`

  async function setUp() {
    const workspace = await api.workspace()
    const { store } = api.services
    const google = api.services.google!
    const save = async (id: string) => google.ensure((await store.passes.find(workspace.id, id))!, api.now)
    const linksOf = async (id: string) => {
      const object = (await google.api.getObject('generic', objectId(id))) as { linkedObjectIds?: string[] }
      return object.linkedObjectIds
    }
    const names = ['a', 'b', 'c'].map((name) => ({ name, label: name }))
    const linking = { ...definition(), variables: [...(definition().variables ?? []), ...names] }
    const linkTo = (linkedPasses: string[]) => ({ ...linking, google: { linkedPasses } })
    return { workspace, save, linksOf, linkTo }
  }

  test('links a pass to the objects of the passes that it names, and adds later ones with its next update', async () => {
    const { workspace, save, linksOf, linkTo } = await setUp()
    const [first, second] = [
      await issuedPass(workspace, { externalPassId: 'parking-1' }),
      await issuedPass(workspace, { externalPassId: 'member-1' }),
    ]
    await save(first.id)
    const { id } = await issuedPass(workspace, {
      externalPassId: 'ticket-1',
      definition: linkTo(['{{b}}', 'parking-{{a}}', 'parking-1', 'ticket-1', 'unknown', '{{pass.label}}', '{{c}}']),
      variables: { a: '1', b: 'member-1', c: '\0' },
    })
    await save(id)
    expect(await linksOf(id)).toEqual([objectId(first.id)])
    await save(second.id)
    await workspace.ok(contract.passes.update, { params: { id }, body: { label: 'Grace' } })
    await api.runJobs()
    expect(await linksOf(id)).toEqual([objectId(second.id), objectId(first.id)])
  })

  test('omits passes of templates that link passes themselves, because Google rejects nested links', async () => {
    const { workspace, save, linksOf, linkTo } = await setUp()
    const names = ['ticket-1', 'ticket-2', 'parking-1']
    const ids = await Promise.all(
      names.map(async (externalPassId) => {
        const links = externalPassId === 'parking-1' ? {} : { definition: linkTo(names) }
        return (await issuedPass(workspace, { externalPassId, ...links })).id
      }),
    )
    for (const id of ids.toReversed()) await save(id)
    for (const id of ids.slice(0, 2)) expect(await linksOf(id)).toEqual([objectId(ids[2]!)])
  })

  test('never links a pass of another identity', async () => {
    const { workspace, save, linksOf, linkTo } = await setUp()
    const name = `brand-${workspace.id}`
    const brand = { name, platform: 'google' as const, isSandbox: true, issuerId: '3388', expiresAt: null }
    const identity = await api.services.store.transaction((tx) =>
      tx.identities.insert({ ...brand, passTypeIdentifier: null, teamIdentifier: null }, () => 'none', api.now),
    )
    const other = await issuedPass(workspace, { externalPassId: 'parking-1' })
    await save(other.id)
    await api.database.writer('passes').where({ id: other.id }).update({ google_identity_id: identity!.id })
    const { id } = await issuedPass(workspace, { definition: linkTo(['parking-1']) })
    await save(id)
    expect(await linksOf(id)).toBeUndefined()
  })

  test('never links a pass of another workspace', async () => {
    const other = await setUp()
    const { id: otherId } = await issuedPass(other.workspace, { externalPassId: 'parking-9' })
    await other.save(otherId)
    const { workspace, save, linksOf, linkTo } = await setUp()
    const { id } = await issuedPass(workspace, { definition: linkTo(['parking-9']) })
    await save(id)
    expect(await linksOf(id)).toBeUndefined()
  })

  test('resolves all links of a pass in one query, and none without linked passes', async () => {
    const { workspace, save, linkTo } = await setUp()
    const plain = await issuedPass(workspace)
    const { id } = await issuedPass(workspace, { definition: linkTo(['x', 'y', 'z']) })
    const listLinkable = vi.spyOn(api.services.store.googleObjects, 'listLinkable')
    onTestFinished(() => void vi.restoreAllMocks())
    await save(plain.id)
    expect(listLinkable).not.toHaveBeenCalled()
    await save(id)
    expect(listLinkable).toHaveBeenCalledOnce()
  })

  test('publishing rejects an override of linked objects that is not the ID of an object', async () => {
    const workspace = await api.workspace()
    const template = await makeTemplate(workspace)
    const publish = async (id: string) => {
      const body = { definition: { ...definition(), google: { object: { linkedObjectIds: [id] } } } }
      const draft = await workspace.ok(contract.templates.createVersion, { params: { id: template.id }, body })
      return workspace.call(contract.templateVersions.publish, { params: { id: draft.id } })
    }
    const { status, body } = await publish('Regular')
    expect(status).toBe(400)
    expect((body as ErrorBody).details).toMatchObject({
      issues: [{ path: ['definition', 'google', 'object', 'linkedObjectIds', 0] }],
    })
    expect(await publish('3388.other')).toMatchObject({ status: 200 })
  })
})
