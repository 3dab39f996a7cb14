import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { Pass } from '../../../../src/core/contract/passes.ts'
import type { DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects, oneDialect } from '../../../support/databases.ts'
import { definition, issuedPass } from '../../fixtures.ts'
import { identifiers, read, traces } from './pass-changes.ts'

const { rotateCode } = contract.passes

function rotate(workspace: TestWorkspace, id: string, ifMatch?: string) {
  return workspace.call(rotateCode, { params: { id } }, { ...(ifMatch && { 'if-match': ifMatch }) })
}

/** Returns the current scan payload of the pass. */
async function codeOf(workspace: TestWorkspace, id: string): Promise<string> {
  const preview = await workspace.ok(contract.passes.preview, { params: { id }, query: { platform: 'apple' } })
  return (preview as unknown as { apple: { barcodes: { message: string }[] } }).apple.barcodes[0]!.message
}

function scanOf(workspace: TestWorkspace, qrPayload: string) {
  return workspace.ok(contract.scans.create, { body: { qrPayload } })
}

const unlimited: DefinitionInput = definition({ redemption: { maxUses: 1_000 } })

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)

  test('after a rotation the old code is stale and the new one is accepted; one revision, one event', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace, { definition: unlimited })
    const [old, before] = [await codeOf(workspace, id), await traces(workspace, id)]
    const answer = await rotate(workspace, id, '"1"')
    expect([answer.status, answer.headers.get('etag')]).toEqual([200, '"2"'])
    expect(answer.body).toEqual(await read(workspace, id))
    const after = await traces(workspace, id)
    expect(after.events.slice(before.events.length)).toMatchObject([
      { type: 'pass.updated', data: { id, changedFields: ['scanCode'] } },
    ])
    expect(after.identifiers.stale).toEqual(before.identifiers.active)

    const fresh = await codeOf(workspace, id)
    expect(fresh).not.toBe(old)
    expect((await scanOf(workspace, old)).reasonCode).toBe('stale_identifier')
    expect((await scanOf(workspace, fresh)).reasonCode).toBe('valid')
    // A retry of the same request writes nothing.
    expect((await rotate(workspace, id, '"1"')).status).toBe(412)
    expect(await codeOf(workspace, id)).toBe(fresh)
  })

  test('concurrent rotations of one revision leave one code', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace, { definition: unlimited })
    const racing = await Promise.all([1, 2, 3].map(() => rotate(workspace, id, '"1"')))
    expect(racing.map(({ status }) => status).toSorted()).toEqual([200, 412, 412])
    const { active, stale } = await identifiers(workspace, id)
    expect([active.length, stale.length]).toEqual([1, 1])
  })
})

describe.each(oneDialect)('passes whose code cannot be rotated, on %s', (dialect) => {
  const api = useApi(dialect)
  const { design } = definition()

  test.each<[string, DefinitionInput['design']['barcode'], number]>([
    ['a barcode of variables', { message: '{{seat}}' }, 409],
    ['no barcode at all', null, 409],
    ['a barcode that holds the code', { message: 'X-{{pass.scanCode}}' }, 200],
  ])('%s', async (_, barcode, status) => {
    const workspace = await api.workspace()
    const content = definition({ design: { ...design, barcode } })
    const { id } = await issuedPass(workspace, { definition: content, variables: { seat: 'A-1' } })
    const before = await traces(workspace, id)
    const answer = await rotate(workspace, id)
    expect([answer.status, (answer.body as { errorCode?: string }).errorCode]).toEqual([
      status,
      status === 409 ? 'CONFLICT' : undefined,
    ])
    if (status === 409) expect(await traces(workspace, id)).toEqual(before)
  })

  test('rejects a void pass; an expired one gets a new code and stays expired', async () => {
    const workspace = await api.workspace()
    const voided = await issuedPass(workspace)
    await workspace.ok(contract.passes.void, { params: { id: voided.id } })
    expect((await rotate(workspace, voided.id)).body).toMatchObject({ errorCode: 'PASS_ALREADY_VOIDED' })

    const expired = await issuedPass(workspace, { definition: definition({ expiresAt: '2026-03-01T00:00:00Z' }) })
    expect((await rotate(workspace, expired.id)).body).toMatchObject({
      status: 'EXPIRED',
      revision: 2,
    } as Partial<Pass>)
  })
})
