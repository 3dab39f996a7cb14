import { beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects, testOn } from '../../../support/databases.ts'
import { definition, issuedPass, makePass, publishedTemplate } from '../../fixtures.ts'
import { change, changed, notChanged, read, traces } from './pass-changes.ts'

const dataFields = ['variables', 'redemption', 'expiresAt']

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const testOnce = testOn(dialect)
  /** A pass that no test changes. */
  let unchanged: { workspace: TestWorkspace; id: string }
  beforeAll(async () => {
    const workspace = await api.workspace()
    unchanged = { workspace, id: (await issuedPass(workspace)).id }
  })

  test('supplied variables replace, omitted ones stay, null removes; undeclared ones stay as received', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace, { variables: { tier: 'Gold', seat: 'A1', extra: { a: [1, null] } } })
    const pass = await changed(workspace, id, { variables: { seat: 'B2', other: ['x'], extra: null } })
    expect(pass.variables).toEqual({ tier: 'Gold', seat: 'B2', other: ['x'] })
    expect(await read(workspace, id)).toEqual(pass)
    expect((await changed(workspace, id, { variables: { hasOwnProperty: 1, constructor: 'c' } })).variables).toEqual({
      ...pass.variables,
      hasOwnProperty: 1,
      constructor: 'c',
    })
  })

  testOnce("accepts names of JavaScript's object members", async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const headers = { 'content-type': 'application/json' }
    const send = (body: string) => workspace.send('PATCH', `/v1/passes/${id}`, { body, headers })
    expect((await send('{"variables":{"__proto__":{"x":1}}}')).text).toContain('"variables":{"__proto__":{"x":1}}')
    expect((await workspace.send('GET', `/v1/passes/${id}`)).text).toContain('"variables":{"__proto__":{"x":1}}')
    expect((await send('{"variables":{"__proto__":null}}')).text).toContain('"variables":{}')
  })

  testOnce('null lets a variable fall back to the default of its template', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace, { variables: { tier: 'Gold' } })
    const shown = async () =>
      JSON.stringify(await workspace.ok(contract.passes.preview, { params: { id }, query: { platform: 'apple' } }))
    expect(await shown()).toContain('"value":"Gold"')
    const pass = await changed(workspace, id, { variables: { tier: null } })
    expect(pass).toMatchObject({ variables: {}, revision: 2 })
    expect(await shown()).toContain('"value":"Green"')
  })

  testOnce('rejects null for a required variable unless it has a default', async () => {
    const workspace = await api.workspace()
    const variables = [
      { name: 'seat', label: 'Seat', required: true },
      { name: 'tier', label: 'Tier', required: true, default: 'Green' },
    ]
    const { id } = await issuedPass(workspace, {
      definition: definition({ variables }),
      variables: { seat: 'A1', tier: 'Gold' },
    })
    const before = await traces(workspace, id)
    expect(await notChanged(workspace, id, { variables: { seat: null, tier: 'Blue' } })).toMatchObject({
      status: 400,
      errorCode: 'VALIDATION_ERROR',
      details: { issues: [{ path: ['variables', 'seat'] }] },
    })
    expect(await traces(workspace, id)).toEqual(before)
    expect((await changed(workspace, id, { variables: { tier: null } })).variables).toEqual({ seat: 'A1' })
  })

  testOnce.each([
    ['an unknown property', { label: 'x', status: 'VOID' }, ['status']],
    ['a property of a create', { externalPassId: 'x' }, ['externalPassId']],
    ['an empty label', { label: '' }, ['label']],
    ['a label that is too long', { label: 'x'.repeat(256) }, ['label']],
    ['no label', { label: null }, ['label']],
    ['variables that are a list', { variables: [] }, ['variables']],
    ['no variables', { variables: null }, ['variables']],
    ['a number for a declared variable', { variables: { tier: 5 } }, ['variables', 'tier']],
    ['too much for a declared variable', { variables: { seat: 'x'.repeat(11) } }, ['variables', 'seat']],
    ['version 0', { templateVersion: 0 }, ['templateVersion']],
    ['a fractional version', { templateVersion: 1.5 }, ['templateVersion']],
    ['a version that is text', { templateVersion: 'newest' }, ['templateVersion']],
    ['a number in quotes', { templateVersion: '1' }, ['templateVersion']],
  ])('rejects %s with its path, and writes nothing', async (_, body, path) => {
    const { workspace, id } = unchanged
    const before = await traces(workspace, id)
    const rejection = await notChanged(workspace, id, { label: 'other', ...body })
    expect(rejection).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR', details: { issues: [{ path }] } })
    expect(await traces(workspace, id)).toEqual(before)
  })

  testOnce.each([undefined, [], 'x', null])('rejects a body that is not an object: %j', async (body) => {
    const { workspace, id } = unchanged
    expect(await notChanged(workspace, id, body)).toMatchObject({ status: 400 })
  })

  testOnce('a key with a dot is reserved, even for removal', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const before = await traces(workspace, id)
    for (const value of ['x', null]) {
      const rejection = await notChanged(workspace, id, { variables: { 'pass.label': value } })
      expect(rejection).toMatchObject({ status: 400, errorCode: 'SYSTEM_VARIABLE_READONLY' })
    }
    expect(await traces(workspace, id)).toEqual(before)
  })

  testOnce('the result of a merge has at most 64 KiB and 200 keys', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace, { variables: { a: 'x'.repeat(40_000) } })
    const rejection = await notChanged(workspace, id, { variables: { b: 'y'.repeat(40_000) } })
    expect(rejection).toMatchObject({ status: 400, details: { issues: [{ path: ['variables'] }] } })
    const exact = 64 * 1024 - Buffer.byteLength(JSON.stringify({ b: '' }))
    await notChanged(workspace, id, { variables: { a: null, b: 'y'.repeat(exact + 1) } })
    await changed(workspace, id, { variables: { a: null, b: 'y'.repeat(exact) } })

    const many = (count: number, prefix: string) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`${prefix}${n}`, 'v']))
    await changed(workspace, id, { variables: { b: null, ...many(150, 'p') } })
    expect(await notChanged(workspace, id, { variables: many(51, 'q') })).toMatchObject({
      status: 400,
      details: { issues: [{ path: ['variables'] }] },
    })
    expect(Object.keys((await changed(workspace, id, { variables: many(50, 'q') })).variables)).toHaveLength(200)
    await changed(workspace, id, { variables: { p0: null, another: 'v' } })
  })

  test('any change is one new revision, visible to wallets only', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const before = await traces(workspace, id)
    api.advance(60)
    const answer = await change(workspace, id, { label: 'Grace', variables: { tier: 'Gold', seat: 'C3' } })
    expect([answer.status, answer.headers.get('etag')]).toEqual([200, '"2"'])
    expect(answer.body).toMatchObject({
      label: 'Grace',
      variables: { tier: 'Gold', seat: 'C3' },
      revision: 2,
      status: 'ISSUED',
      updatedAt: api.now.toISOString(),
      createdAt: new Date(before.pass.created_at).toISOString(),
    })
    const after = await traces(workspace, id)
    expect(after.pass.wallet_version).toBe(before.pass.wallet_version + 1)
    expect(after.pass.version).toBe(before.pass.version + 1)
    expect(after.pass.label_folded).toBe('grace')
    expect(after.variables).toEqual([
      { name: 'seat', value: 'C3' },
      { name: 'tier', value: 'Gold' },
    ])
    expect(after.identifiers).toEqual(before.identifiers)
    expect([after.pass.link_generation, after.jobs]).toEqual([before.pass.link_generation, []])
  })

  test.each([
    ['a label', { label: 'Grace' }, ['label']],
    ['variables', { variables: { seat: 'C3' } }, dataFields],
    ['both', { label: 'Grace', variables: { seat: 'C3' } }, ['label', ...dataFields]],
  ])('pass.updated reports that %s was written, and names the pass', async (_, body, fields) => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    const { update } = contract.passes
    await workspace.call(update, { params: { id: pass.id }, body }, { 'x-correlation-id': 'my-change' })
    const { id, externalPassId, templateId, templateVersionId, projectId } = pass
    const [, event, ...others] = await workspace.events(id)
    expect(others).toEqual([])
    expect(event).toEqual({
      type: 'pass.updated',
      correlationId: 'my-change',
      data: { id, externalPassId, templateId, templateVersionId, projectId, changedFields: expect.anything() },
    })
    expect(event!.data.changedFields.toSorted()).toEqual(fields.toSorted())
  })

  test('writing the current values changes nothing but is reported with the written fields', async () => {
    const workspace = await api.workspace()
    const variables = { seat: 'A1', deep: { a: [1, { b: null }], c: -0 }, n: 1e21 }
    const { id, label } = await issuedPass(workspace, { variables })
    const before = await traces(workspace, id)
    const shown = await read(workspace, id)
    api.advance(60)
    const same = { n: 1e21, deep: { c: -0, a: [1, { b: null }] } }
    const answers = [
      await change(workspace, id, { label }),
      await change(workspace, id, { variables: same }),
      await change(workspace, id, { variables: { missing: null } }),
    ]
    for (const answer of answers) {
      expect(answer.headers.get('etag')).toBe('"1"')
      expect({ ...(answer.body as object), hostedLinks: null }).toEqual({ ...shown, hostedLinks: null })
    }
    const { events, ...after } = await traces(workspace, id)
    expect({ ...after, events: before.events }).toEqual(before)
    expect(events.slice(before.events.length).map(({ type, data }) => [type, data.changedFields])).toEqual([
      ['pass.updated', ['label']],
      ['pass.updated', dataFields],
      ['pass.updated', dataFields],
    ])
  })

  test.each(['-0', '[{"a":-0.0}]'])('a number that JSON cannot keep is not a change each time: %s', async (text) => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const send = () =>
      workspace.send('PATCH', `/v1/passes/${id}`, {
        body: `{"variables":{"n":${text}}}`,
        headers: { 'content-type': 'application/json' },
      })
    const [first, second] = [await send(), await send()]
    expect([first.headers.get('etag'), second.headers.get('etag')]).toEqual(['"2"', '"2"'])
    expect(second.body).toEqual(first.body)
  })

  testOnce.each([{}, { variables: {} }, { templateVersion: 1 }, { templateVersion: 'latest' as const, variables: {} }])(
    'a body without changes has no effect: %j',
    async (body) => {
      const workspace = await api.workspace()
      const { id } = await issuedPass(workspace)
      const before = await traces(workspace, id)
      api.advance(60)
      const answer = await change(workspace, id, body)
      expect([answer.status, answer.headers.get('etag')]).toEqual([200, '"1"'])
      expect(answer.body).toMatchObject({ id, revision: 1 })
      expect(await traces(workspace, id)).toEqual(before)
    },
  )

  test('an unknown pass, and one of another workspace, is 404 PASS_NOT_FOUND', async () => {
    const [workspace, other] = [await api.workspace(), await api.workspace()]
    const { id } = await issuedPass(workspace)
    const before = await traces(workspace, id)
    const expected = { status: 404, errorCode: 'PASS_NOT_FOUND' }
    expect(await notChanged(other, id, { label: 'x' })).toMatchObject(expected)
    expect(await notChanged(workspace, '018f2f5e-7c1a-7000-8000-0123456789ab', { label: 'x' })).toMatchObject(expected)
    expect(await traces(workspace, id)).toEqual(before)
  })

  test('a pass that is not issued yet is changed like any other, and issued with the change', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const { id } = await makePass(workspace, template.id)
    expect(await changed(workspace, id, { label: 'Grace' })).toMatchObject({ status: 'QUEUED', revision: 2 })
    await api.runJobs()
    expect(await read(workspace, id)).toMatchObject({ status: 'ISSUED', revision: 2, label: 'Grace' })
  })
})
