import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Client } from '../../../src/client/client.ts'
import { ConnectionError } from '../../../src/client/client-errors.ts'
import { scannablePass } from '../../server/api/scans/scan-support.ts'
import { useApi } from '../../support/api.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { serveApp } from '../../support/served-app.ts'
import { openDoor, storeList } from './console.ts'

// biome-ignore lint/correctness/useHookAtTopLevel: no hook of React
const api = useApi('sqlite')

test('a console whose folder is removed keeps its pending decisions, and returns online', async () => {
  const workspace = await api.workspace()
  const [first, second] = [await scannablePass(workspace), await scannablePass(workspace)]
  const { client } = await serveApp(api, workspace.token)
  let isDown = true
  const request: Client['request'] = async (raw, options) => {
    if (isDown) throw new ConnectionError('http://server', new Error('down'))
    return client.request(raw, options)
  }
  const folder = join(temporaryFolder(), 'door')
  await storeList(client, folder)
  const door = await openDoor({ ...client, request }, folder, { isReached: false })
  onTestFinished(async () => void (await door.stop()))
  expect((await door.scan(first.code)).result).toBe('accepted')

  rmSync(folder, { recursive: true })
  expect(await door.scan(second.code)).toMatchObject({ result: 'accepted', verified: 'offline' })
  expect((await door.scan(first.code)).result).toBe('duplicate')
  expect(statSync(join(folder, 'door.db')).mode & 0o077).toBe(0)

  rmSync(folder, { recursive: true })
  isDown = false
  await eventually(() => expect(door.state).toMatchObject({ pending: 0, connection: { offlineSince: null } }))
  const { items } = await client.scans.list({ query: { result: 'accepted' } })
  expect(items.map(({ passId }) => passId).sort()).toEqual([first.id, second.id].sort())
})
