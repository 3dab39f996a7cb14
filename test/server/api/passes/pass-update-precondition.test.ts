import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import { useApi } from '../../../support/api.ts'
import { oneDialect } from '../../../support/databases.ts'
import { issuedPass, makePass, publishedTemplate } from '../../fixtures.ts'
import { change, changed, traces } from './pass-changes.ts'

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  /** Creates a pass at revision 3. */
  async function changedTwice() {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    await changed(workspace, id, { label: 'second' })
    await changed(workspace, id, { label: 'third' })
    return { workspace, id }
  }

  test('every response with one pass has its revision as the entity tag', async () => {
    const workspace = await api.workspace()
    const { id: templateId } = await publishedTemplate(workspace)
    const body = { externalPassId: 'tagged', label: 'Ada', templateId }
    const created = await workspace.call(contract.passes.create, { body })
    const { id } = await makePass(workspace, templateId, { externalPassId: 'tagged' })
    expect([created.status, created.headers.get('etag')]).toEqual([201, '"1"'])
    const change1 = await change(workspace, id, { label: 'x' }, { ifMatch: created.headers.get('etag')! })
    expect([change1.status, change1.headers.get('etag')]).toEqual([200, '"2"'])
    const again = await workspace.call(contract.passes.create, { body })
    const got = await workspace.call(contract.passes.get, { params: { id } })
    expect([again.headers.get('etag'), got.headers.get('etag')]).toEqual(['"2"', '"2"'])
    expect((await change(workspace, id, { label: 'y' }, { ifMatch: got.headers.get('etag')! })).status).toBe(200)
  })

  test.each(['"3"', '3', '*', ' "3" ', '"1", "3"', '"3","4"', '2,3', '1 , "2" ,3'])(
    'If-Match: %s holds for revision 3',
    async (ifMatch) => {
      const { workspace, id } = await changedTwice()
      const answer = await change(workspace, id, { label: 'fourth' }, { ifMatch })
      expect([answer.status, answer.headers.get('etag')]).toEqual([200, '"4"'])
    },
  )

  test.each(['"2"', '2', '4', '"1", "2"', '"1","2","4","33"', '9007199254740991'])(
    'If-Match: %s is stale: 412 with the current revision, and nothing is written',
    async (ifMatch) => {
      const { workspace, id } = await changedTwice()
      const before = await traces(workspace, id)
      for (const body of [{ label: 'fourth' }, { label: 'third' }, {}]) {
        const answer = await change(workspace, id, body, { ifMatch })
        expect(answer).toMatchObject({
          status: 412,
          body: { errorCode: 'PRECONDITION_FAILED', details: { revision: 3 } },
        })
      }
      expect(await traces(workspace, id)).toEqual(before)
    },
  )

  test.each([
    'W/"3"',
    'w/"3"',
    '"3',
    '3"',
    "'3'",
    '"three"',
    '"3" "4"',
    '*, "3"',
    '"3",',
    '"*"',
    '',
    '-3',
    '3.0',
    '""',
    '"9007199254740992"',
  ])('If-Match: rejects %s and writes nothing', async (ifMatch) => {
    const { workspace, id } = await changedTwice()
    const before = await traces(workspace, id)
    const answer = await change(workspace, id, { label: 'fourth' }, { ifMatch })
    expect(answer).toMatchObject({ status: 400, body: { errorCode: 'VALIDATION_ERROR' } })
    expect(JSON.stringify(answer.body)).toContain('if-match')
    expect(await traces(workspace, id)).toEqual(before)
  })

  test('identical writes, status changes, voiding, and revoked links keep a tag valid', async () => {
    const { workspace, id } = await changedTwice()
    const params = { id }
    await changed(workspace, id, { label: 'third' })
    await workspace.ok(contract.passes.revokeLinks, { params })
    expect((await change(workspace, id, { label: 'third' }, { ifMatch: '"3"' })).status).toBe(200)
    await workspace.ok(contract.passes.void, { params })
    expect((await workspace.call(contract.passes.get, { params })).headers.get('etag')).toBe('"3"')
  })

  test('one of two simultaneous requests with one tag is written', async () => {
    const { workspace, id } = await changedTwice()
    const answers = await Promise.all(
      ['left', 'right'].map((label) => change(workspace, id, { label }, { ifMatch: '"3"' })),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412])
    expect((await traces(workspace, id)).pass.revision).toBe(4)
  })
})
