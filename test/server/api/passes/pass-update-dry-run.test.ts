import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import { useApi } from '../../../support/api.ts'
import { oneDialect } from '../../../support/databases.ts'
import { definition, issuedPass } from '../../fixtures.ts'
import { change, traces } from './pass-changes.ts'

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  test('a dry run shows the pass as it would be and leaves no trace', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace, {
      definition: definition({ expiresAt: '{{seat}}' }),
      variables: { seat: '2030-01-01' },
    })
    const before = await traces(workspace, id)
    api.advance(60)
    const body = { label: 'Grace', variables: { seat: '2031-01-01', extra: 1, none: null } }
    const dry = await change(workspace, id, body, { dryRun: true })
    // The response has no ETag, because the new revision is not stored.
    expect([dry.status, dry.headers.get('etag')]).toEqual([200, null])
    expect(dry.body).toMatchObject({ revision: 2, expiresAt: '2031-01-01T23:59:59.999Z', label: 'Grace' })
    expect(await traces(workspace, id)).toEqual(before)
    const real = await change(workspace, id, body, { dryRun: false })
    expect(dry.body).toEqual(real.body)
  })

  test('a dry run without changes shows the current revision and no ETag', async () => {
    const workspace = await api.workspace()
    const { id, label } = await issuedPass(workspace, { variables: { seat: 'A1' } })
    const before = await traces(workspace, id)
    for (const body of [{}, { label }, { variables: { seat: 'A1', none: null } }, { templateVersion: 1 }]) {
      const answer = await change(workspace, id, body, { dryRun: true })
      expect([answer.status, answer.headers.get('etag'), answer.body]).toMatchObject([200, null, { revision: 1 }])
    }
    expect(await traces(workspace, id)).toEqual(before)
  })

  test('rejects a dry run if the real update would be rejected', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const options = { dryRun: true }
    expect((await change(workspace, id, { variables: { tier: 5 } }, options)).status).toBe(400)
    expect((await change(workspace, id, { label: 'x' }, { ...options, ifMatch: '2' })).status).toBe(412)
    expect((await change(workspace, id, { templateVersion: 2 }, options)).status).toBe(404)
    await workspace.ok(contract.passes.void, { params: { id } })
    expect((await change(workspace, id, { label: 'x' }, options)).status).toBe(409)
  })

  test.each(['maybe', '', '1', 'TRUE'])('dryRun accepts only true and false, not "%s"', async (dryRun) => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const before = await traces(workspace, id)
    const answer = await workspace.send('PATCH', `/v1/passes/${id}?dryRun=${dryRun}`, { body: { label: 'x' } })
    expect(answer).toMatchObject({ status: 400, body: { errorCode: 'VALIDATION_ERROR' } })
    expect(await traces(workspace, id)).toEqual(before)
  })
})
