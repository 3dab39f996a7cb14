import { describe, expect, test } from 'vitest'
import type { BarcodeFormat } from '../../src/core/barcode-formats.ts'
import { contract } from '../../src/core/contract/contract.ts'
import { scannable, scannablePass } from '../server/api/scans/scan-support.ts'
import { makeProject } from '../server/fixtures.ts'
import { type TestWorkspace, useApi } from '../support/api.ts'
import { claimedPhone } from './phone.ts'

// biome-ignore lint/correctness/useHookAtTopLevel: no hook of React
const api = useApi('sqlite')

async function place() {
  const workspace = await api.workspace()
  const { id: projectId } = await makeProject(workspace)
  return { workspace, projectId }
}

function passWith(workspace: TestWorkspace, projectId: string, format: BarcodeFormat, code: string) {
  const { design } = scannable()
  const parts = { design: { ...design, barcode: { format, message: '{{code}}' } } }
  return scannablePass(workspace, { projectId, code, parts })
}

/** Creates a pass whose design has a QR code, and whose override has a linear code with the same message. */
function passWithOverride(workspace: TestWorkspace, projectId: string, code: string) {
  const { design } = scannable()
  const parts = {
    design: { ...design, barcode: { format: 'qr' as const, message: '{{code}}' } },
    apple: {
      barcodes: [{ format: 'PKBarcodeFormatEAN13', message: '{{code}}', messageEncoding: 'iso-8859-1' }],
    },
  }
  return scannablePass(workspace, { projectId, code, parts })
}

const camera = (payload: string) => ({ payload, method: 'camera' as const })

describe.each(['online', 'offline'] as const)('%s, a door', (network) => {
  test.each([
    ['ean13', '0012345678905', '0012345678905', 'accepted'],
    ['ean13', '0012345678905', '012345678905', 'accepted'],
    ['ean13', '0012345678905', '12345678905', 'unknown'],
    ['qr', '0012345678905', '012345678905', 'unknown'],
    ['code39', 'ABC-1', 'abc-1', 'accepted'],
    ['code39', 'ABC-1', '*ABC-1*', 'accepted'],
    ['qr', 'ABC-1', 'abc-1', 'unknown'],
    ['code128', 'ABC-1', 'abc-1', 'unknown'],
    ['codabar', '123456', 'A123456A', 'accepted'],
    ['codabar', '123456', 't123456n', 'unknown'],
    ['codabar', '123456', 'C123456D', 'accepted'],
    ['codabar', 'A123456B', 'A123456B', 'accepted'],
    ['codabar', 'A123456B', 'a123456b', 'accepted'],
    ['codabar', 'A123456B', '123456', 'accepted'],
    ['codabar', 'A123456B', 'C123456D', 'unknown'],
    ['qr', '123456', 'A123456A', 'unknown'],
    ['itf', '123456', '123456', 'accepted'],
    ['itf', '123456', '0123456', 'unknown'],
  ] as const)('%s with the message %s, read as %s: %s', async (format, message, payload, result) => {
    const { workspace, projectId } = await place()
    const pass = await passWith(workspace, projectId, format, message)
    const phone = await claimedPhone(workspace, projectId)
    if (network === 'offline') phone.network = 'down'
    const decision = await phone.engine.scan(camera(payload))
    expect(decision).toMatchObject({ result, verified: network })
    expect(decision.passId).toBe(result === 'accepted' ? pass.id : null)
    await phone.engine.stop()
  })
})

test.each(['online', 'offline'] as const)(
  '%s, a door finds a pass whose linear code is only in an override',
  async (network) => {
    const { workspace, projectId } = await place()
    const pass = await passWithOverride(workspace, projectId, '0012345678905')
    const phone = await claimedPhone(workspace, projectId)
    if (network === 'offline') phone.network = 'down'
    expect(await phone.engine.scan(camera('012345678905'))).toMatchObject({ result: 'accepted', passId: pass.id })
    await phone.engine.stop()
  },
)

test('an exact match takes precedence over another reading', async () => {
  const { workspace, projectId } = await place()
  const [linear, exact] = [
    await passWith(workspace, projectId, 'code39', 'ABC'),
    await passWith(workspace, projectId, 'qr', 'abc'),
  ]
  const scan = (qrPayload: string) => workspace.ok(contract.scans.create, { body: { qrPayload, projectId } })
  expect((await scan('abc')).pass?.id).toBe(exact.id)
  expect((await scan('Abc')).pass?.id).toBe(linear.id)
})

test('another reading of a former message is stale, and the upload of an offline scan agrees', async () => {
  const { workspace, projectId } = await place()
  const pass = await passWith(workspace, projectId, 'ean13', '0012345678905')
  const body = { variables: { code: '0098765432105' } }
  await workspace.ok(contract.passes.update, { params: { id: pass.id }, body })
  const phone = await claimedPhone(workspace, projectId)
  phone.network = 'down'
  expect(await phone.engine.scan(camera('012345678905'))).toMatchObject({ reasonCode: 'stale_identifier' })
  expect(await phone.engine.scan(camera('098765432105'))).toMatchObject({ result: 'accepted', verified: 'offline' })
  await phone.settle()
  await phone.until(({ recent }) => recent.every(({ isPending }) => !isPending))
  expect(phone.engine.state.conflicts).toEqual([])
  const scans = await workspace.ok(contract.scans.list, { query: { passId: pass.id, limit: 10 } })
  expect(scans.items.map(({ result }) => result)).toEqual(['accepted', 'denied'])
  const online = await workspace.ok(contract.scans.create, { body: { qrPayload: '012345678905', projectId } })
  expect(online.reasonCode).toBe('stale_identifier')
  await phone.engine.stop()
})

test('a door list names the barcode format only of passes with other readings', async () => {
  const { workspace, projectId } = await place()
  await passWith(workspace, projectId, 'codabar', '123456')
  await passWith(workspace, projectId, 'itf', '123456')
  const { items } = await workspace.ok(contract.scanner.snapshot, { query: { projectId } })
  expect(items.map(({ barcodeFormat }) => barcodeFormat)).toEqual(['codabar', undefined])
})
