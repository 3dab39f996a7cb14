import { describe, expect, test } from 'vitest'
import { projects } from '../../../src/core/contract/projects.ts'
import { scans } from '../../../src/core/contract/scans.ts'
import { zones } from '../../../src/core/contract/zones.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { scan, scannablePass } from './scans/scan-support.ts'

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)

  async function zoneOf(workspace: TestWorkspace, fields: { capacity?: number; whenFull?: 'warn' | 'deny' } = {}) {
    const project = await workspace.ok(projects.create, { body: { name: 'Fair' } })
    const zone = await workspace.ok(zones.create, { body: { projectId: project.id, name: 'Hall', ...fields } })
    return { zoneId: zone.id, projectId: project.id }
  }

  test('counts entries and exits, and lets a pass enter again without a use', async () => {
    const workspace = await api.workspace()
    const { zoneId, projectId } = await zoneOf(workspace)
    const { id, code } = await scannablePass(workspace, { projectId, redemption: { maxUses: 1 } })
    const at = (direction: 'in' | 'out', gate = 'North') =>
      scan(workspace, { qrPayload: code, zoneId, direction, context: { gate } })
    expect(await at('out')).toMatchObject({ result: 'denied', reasonCode: 'not_valid_context', message: 'Not inside.' })
    const entry = await at('in')
    expect(entry).toMatchObject({
      result: 'accepted',
      scan: { zoneId, direction: 'in' },
      zone: { id: zoneId, name: 'Hall', inside: 1, capacity: null },
    })
    const again = await at('in')
    expect(again).toMatchObject({ result: 'duplicate', reasonCode: 'already_scanned', zone: { inside: 1 } })
    expect(again.message).toMatch(/^Already inside since .*, North\.$/)
    expect(await at('out')).toMatchObject({ result: 'accepted', reasonCode: 'valid', zone: { inside: 0 } })
    const reentry = await at('in')
    expect(reentry).toMatchObject({ result: 'accepted', message: 'Valid. Re-entry.', zone: { inside: 1 } })
    expect(reentry.pass).toMatchObject({ id, acceptedScanCount: 1 })
    await workspace.ok(scans.reverse, { params: { id: reentry.scan.id } })
    expect(await workspace.ok(zones.get, { params: { id: zoneId } })).toMatchObject({ inside: 0 })
  })
})
