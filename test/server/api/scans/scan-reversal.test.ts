import { beforeAll, describe, expect, test } from 'vitest'
import { passes } from '../../../../src/core/contract/passes.ts'
import { scans } from '../../../../src/core/contract/scans/scans.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects } from '../../../support/databases.ts'
import { scan, scannablePass } from './scan-support.ts'

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  let workspace: TestWorkspace

  beforeAll(async () => {
    workspace = await api.workspace()
  })

  const reverse = (id: string, body: object = {}) => workspace.ok(scans.reverse, { params: { id }, body })

  test('a reversed scan counts nowhere, and the ledger keeps both', async () => {
    const pass = await scannablePass(workspace)
    const accepted = await scan(workspace, { qrPayload: pass.code, scanContextKey: 'day 1' })
    expect(await scan(workspace, { qrPayload: pass.code, scanContextKey: 'day 1' })).toMatchObject({
      result: 'duplicate',
    })
    api.advance(60)
    const body = { reason: 'Wrong gate', deviceId: 'd', context: { gate: 'B' } }
    const answer = await reverse(accepted.scan.id, body)
    expect(answer).toMatchObject({
      result: 'reversal',
      reasonCode: null,
      priorScanCount: 1,
      isFirstScan: false,
      idempotentReplay: false,
      scan: {
        passId: pass.id,
        reversesScanId: accepted.scan.id,
        reason: 'Wrong gate',
        scanContextKey: 'day 1',
        scannedAt: api.now.toISOString(),
        deviceId: 'd',
        context: { gate: 'B' },
      },
      pass: { acceptedScanCount: 0, contextAcceptedScanCount: 0, lastAcceptedScanAt: null },
      message: expect.stringContaining('taken back'),
    })
    const { text, body: item } = await workspace.call(scans.get, { params: { id: answer.scan.id } })
    expect(item).toMatchObject({ result: 'reversal', reason: null, reversesScanId: accepted.scan.id })
    const [event] = await workspace.events(answer.scan.id)
    expect([event?.type, JSON.stringify(event?.data)]).toEqual(['pass.scanned', text])
    expect(await workspace.ok(scans.get, { params: { id: accepted.scan.id } })).toMatchObject({ result: 'accepted' })
    expect(await scan(workspace, { qrPayload: pass.code, scanContextKey: 'day 1' })).toMatchObject({
      result: 'accepted',
      isFirstScan: true,
    })
  })

  test('reverses an accepted scan once, and never a denied one', async () => {
    const pass = await scannablePass(workspace)
    const accepted = await scan(workspace, { qrPayload: pass.code })
    const duplicate = await scan(workspace, { qrPayload: pass.code })
    const reversal = await reverse(accepted.scan.id)
    const unknown = await scan(workspace, { qrPayload: 'nobody' })
    for (const id of [accepted.scan.id, duplicate.scan.id, reversal.scan.id, unknown.scan.id]) {
      const rejection = await workspace.refused(scans.reverse, { params: { id }, body: {} })
      expect(rejection).toMatchObject({ status: 409, errorCode: 'CONFLICT', details: { scanId: id } })
    }
    expect(await workspace.refused(scans.reverse, { params: { id: pass.id } })).toMatchObject({
      status: 404,
      errorCode: 'NOT_FOUND',
    })
  })

  test('one of 50 concurrent reversals succeeds', async () => {
    const pass = await scannablePass(workspace)
    const { id } = (await scan(workspace, { qrPayload: pass.code })).scan
    const all = Array.from({ length: 50 }, () => workspace.call(scans.reverse, { params: { id }, body: {} }))
    const statuses = (await Promise.all(all)).map(({ status }) => status)
    expect([
      statuses.filter((status) => status === 200).length,
      statuses.filter((status) => status === 409).length,
    ]).toEqual([1, 49])
  })

  test('a reversal with an externalRef can be repeated, also concurrently', async () => {
    const pass = await scannablePass(workspace)
    const { id } = (await scan(workspace, { qrPayload: pass.code, externalRef: 'taken' })).scan
    const answers = await Promise.all(Array.from({ length: 20 }, () => reverse(id, { externalRef: 'back' })))
    expect(answers.filter(({ idempotentReplay }) => !idempotentReplay)).toHaveLength(1)
    expect(new Set(answers.map(({ scan }) => scan.id)).size).toBe(1)
    const other = await scan(workspace, { qrPayload: pass.code })
    for (const externalRef of ['taken', 'back']) {
      const rejection = await workspace.refused(scans.reverse, { params: { id: other.scan.id }, body: { externalRef } })
      expect(rejection, externalRef).toMatchObject({ status: 409, errorCode: 'CONFLICT' })
    }
    expect(await reverse(other.scan.id)).toMatchObject({ result: 'reversal' })
  })

  test('a pass that its last use voided stays void', async () => {
    const pass = await scannablePass(workspace, { redemption: { maxUses: 1, autoVoidOnExhaustion: true } })
    const { id } = (await scan(workspace, { qrPayload: pass.code })).scan
    await reverse(id)
    expect(await workspace.ok(passes.get, { params: { id: pass.id } })).toMatchObject({ status: 'VOID' })
    expect(await scan(workspace, { qrPayload: pass.code })).toMatchObject({ reasonCode: 'revoked' })
  })
})
