import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { Pass } from '../../../../src/core/contract/passes.ts'
import { erasePass } from '../../../../src/server/operator/erase-pass.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects } from '../../../support/databases.ts'
import { definition, makeProject, passBody, publishedTemplate } from '../../fixtures.ts'
import { changed, notChanged, read, traces } from './pass-changes.ts'

const { create, createBatch, list, revokeLinks, transfer } = contract.passes
const variables = [{ name: 'order', label: 'Order' }]
const ofOrder = definition({ variables: [...definition().variables!, ...variables], group: { key: '{{order}}' } })

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const status = async (link: string | null) => {
    const headers = { accept: 'application/json' }
    return (await api.send('GET', new URL(link!).pathname, { headers })).status
  }
  const make = (workspace: TestWorkspace, templateId: string, parts: object) =>
    workspace.ok(create, { body: { ...passBody(templateId), ...parts } }) as Promise<Pass>
  const listed = async (workspace: TestWorkspace, query: object) =>
    (await workspace.ok(list, { query })).items.map(({ groupKey }) => groupKey)

  test('the group comes from the request, or from the template and the values, and follows changes', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace, { definition: ofOrder })
    const order = { order: 'o-1' }
    const made = await make(workspace, template.id, { variables: order })
    expect([made.groupKey, made]).toEqual(['o-1', await read(workspace, made.id)])
    expect((await make(workspace, template.id, {})).groupKey).toBeNull()
    expect((await make(workspace, template.id, { variables: order, groupKey: null })).groupKey).toBeNull()
    const asked = await make(workspace, template.id, { variables: order, groupKey: 'family' })
    expect(asked.groupKey).toBe('family')

    const followed = await changed(workspace, made.id, { variables: { order: 'o-2' } })
    expect([followed.groupKey, followed.revision]).toEqual(['o-2', 2])
    expect((await changed(workspace, asked.id, { variables: { order: 'o-2' } })).groupKey).toBe('family')
    const left = await changed(workspace, made.id, { groupKey: null })
    expect([left.groupKey, left.revision, left.hostedLinks.group]).toEqual([null, 3, null])
    expect((await changed(workspace, made.id, { variables: { order: 'o-3' } })).groupKey).toBeNull()
    expect((await changed(workspace, made.id, { groupKey: 'x' }, true)).groupKey).toBe('x')
    const back = await changed(workspace, made.id, { groupKey: 'o-3' })
    expect(back).toEqual(await read(workspace, made.id))
    const fields = (await traces(workspace, made.id)).events.flatMap(({ data }) => [data.changedFields])
    expect(fields.map((names) => names?.includes('groupKey'))).toEqual([true, true, false, true])

    const tooLong = { variables: { order: 'é'.repeat(256) } }
    expect(await notChanged(workspace, made.id, tooLong)).toMatchObject({ status: 400 })
    expect((await changed(workspace, made.id, { variables: { order: '😀'.repeat(255) } })).groupKey).toHaveLength(510)
    for (const groupKey of ['', 'x'.repeat(256)]) {
      expect(await notChanged(workspace, made.id, { groupKey })).toMatchObject({ status: 400 })
    }
    const batch = await workspace.ok(createBatch, {
      body: { passes: [passBody(template.id), { ...passBody(template.id), groupKey: 'b' }] },
    })
    expect(batch.results.map(({ pass }) => pass?.groupKey)).toEqual([null, 'b'])
  })

  test('lists are filtered and sorted by the group, passes without one behind all others, from page to page', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const long = `b${'é'.repeat(254)}`
    for (const groupKey of ['b', 'a', null, 'a', long, null, 'ab']) await make(workspace, template.id, { groupKey })
    const inOrder = ['a', 'a', 'ab', 'b', long, null, null]
    expect(await listed(workspace, { sortBy: 'groupKey', sortDir: 'asc' })).toEqual(inOrder)
    expect(await listed(workspace, { sortBy: 'groupKey', sortDir: 'desc' })).toEqual(inOrder.toReversed())
    expect(await listed(workspace, { groupKey: 'a' })).toEqual(['a', 'a'])
    expect(await listed(workspace, { groupKey: ['ab', long] })).toEqual(['ab', long])
    expect(await listed(workspace, { groupKey: 'A' })).toEqual([])
    for (const sortDir of ['asc', 'desc'] as const) {
      const query = { sortBy: 'groupKey', sortDir } as const
      const { items } = await workspace.ok(list, { query })
      const ids = items.map(({ id }) => id)
      for (const limit of [1, 2, 3, 5]) {
        const byCursor: string[] = []
        let cursor: string | null | undefined
        do {
          const page = await workspace.ok(list, { query: { ...query, limit, ...(cursor && { cursor }) } })
          expect(page.total).toBe(7)
          byCursor.push(...page.items.map(({ id }) => id))
          cursor = page.nextCursor
        } while (cursor)
        expect(byCursor).toEqual(ids)
        for (const offset of [1, 4, 5, 6, 7]) {
          const page = await workspace.ok(list, { query: { ...query, limit, offset } })
          expect(page.items.map(({ id }) => id)).toEqual(ids.slice(offset, offset + limit))
        }
      }
    }
  })

  test('a group has one link, of one workspace and project, that dies with the links of any of its passes', async () => {
    const [workspace, other] = [await api.workspace(), await api.workspace()]
    const project = await makeProject(workspace)
    const inProject = await publishedTemplate(workspace, { projectId: project.id })
    const template = await publishedTemplate(workspace)
    const elsewhere = await publishedTemplate(other)
    const group = { groupKey: 'o-1' }
    const [a, b] = await Promise.all([make(workspace, template.id, group), make(workspace, template.id, group)])
    expect(a.hostedLinks.group).toBe(b.hostedLinks.group)
    const others = [await make(workspace, inProject.id, group), await make(other, elsewhere.id, group)]
    const links = [a, ...others].map(({ hostedLinks }) => hostedLinks.group)
    expect(new Set(links).size).toBe(3)
    for (const link of links) expect(await status(link)).toBe(200)

    await workspace.ok(revokeLinks, { params: { id: b.id } })
    expect([await status(links[0]!), await status(links[1]!), await status(links[2]!)]).toEqual([410, 200, 200])
    const fresh = (await read(workspace, a.id)).hostedLinks.group
    expect([await status(fresh), (await read(workspace, b.id)).hostedLinks.group]).toEqual([200, fresh])
    // A pass that joins the group later gets the current link.
    expect((await make(workspace, template.id, group)).hostedLinks.group).toBe(fresh)
    expect((await changed(workspace, others[0]!.id, { label: 'Grace' })).hostedLinks.group).toBe(links[1])
  })

  test('a pass that is transferred or erased leaves its group, and the page of the others stays', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace, { definition: ofOrder })
    const order = { variables: { order: 'o-1' } }
    const [stays, goes, erased] = [
      await make(workspace, template.id, { ...order, label: 'Ada Lovelace' }),
      await make(workspace, template.id, { ...order, label: 'Grace Hopper' }),
      await make(workspace, template.id, { ...order, label: 'Mary Somerville' }),
    ]
    const link = stays.hostedLinks.group!
    const given = await workspace.ok(transfer, { params: { id: goes.id }, body: { label: 'Charles Babbage' } })
    expect([given.groupKey, given.hostedLinks.group]).toEqual([null, null])
    const [event] = (await traces(workspace, goes.id)).events.slice(-1)
    expect(event!.data.changedFields).toEqual(['label', 'scanCode', 'groupKey'])
    await erasePass({ store: api.services.store, database: api.database }, workspace.id, erased.id, api.now)
    expect((await read(workspace, erased.id)).groupKey).toBeNull()
    expect(await listed(workspace, { groupKey: 'o-1' })).toEqual(['o-1'])
    const { text } = await api.send('GET', new URL(link).pathname)
    expect(text).toContain('Ada Lovelace')
    expect(text).not.toMatch(/Grace|Charles|Mary/)
  })
})
