import { join } from 'node:path'
import { expect, test } from 'vitest'
import { consoleEnvironment } from '../../../src/cli/console/environment.ts'
import { openSqliteTables } from '../../../src/cli/console/offline/sqlite-tables.ts'
import type { Client } from '../../../src/client/client.ts'
import { ApiError } from '../../../src/client/client-errors.ts'
import { contract } from '../../../src/core/contract/contract.ts'
import { newId } from '../../../src/core/ids.ts'
import { openEngine } from '../../../src/door/engine/open-engine.ts'
import { TableStore } from '../../../src/door/engine/store/table-store.ts'
import { makePass, publishedTemplate } from '../../server/fixtures.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { serveApp } from '../../support/served-app.ts'

// biome-ignore lint/correctness/useHookAtTopLevel: no hook of React
const api = useApi('sqlite')

type Query = { since?: string; cursor?: string; limit?: number }

/** Opens a console on a folder, and loads its list once. */
async function consoleOn(
  folder: string,
  workspace: TestWorkspace,
  change = async (_: Query): Promise<unknown> => undefined,
) {
  const asked: Query[] = []
  const { client } = await serveApp(api, workspace.token)
  const request: Client['request'] = async (raw, options) => {
    const { pathname, searchParams } = new URL(raw.path, 'http://server')
    if (pathname === '/v1/scanner/snapshot') {
      const { limit, ...query } = Object.fromEntries(searchParams)
      asked.push({ ...query, limit: Number(limit) })
      await change(query)
    }
    return client.request(raw, options)
  }
  const engine = await openEngine(
    consoleEnvironment({
      client: { request } as Client,
      folder,
      station: { projectId: undefined, deviceId: 'gate', context: {} },
      isReached: true,
      clock: () => new Date(),
      sameScanMs: 0,
    }),
  )
  const labels = async () =>
    engine.state.list ? (await engine.search('ada', 99)).map(({ label }) => label) : undefined
  const start = await labels()
  await engine.flush()
  const found = await labels()
  await engine.stop()
  return { start, found, asked, rejection: engine.state.listRejection }
}

function errorOf(status: number, code: string): ApiError {
  const request = { method: 'GET', path: '/v1/scanner/snapshot' }
  return new ApiError({ status, code, message: code, correlationId: 'x', details: {}, request })
}

async function makeDoor() {
  const workspace = await api.workspace()
  const template = await publishedTemplate(workspace)
  const make = (label: string) => makePass(workspace, template.id, { label })
  return { workspace, make, folder: temporaryFolder(), first: await make('Ada 1'), templateId: template.id }
}

test('a console refreshes its list with changes, and starts with the stored list', async () => {
  const { workspace, make, folder, first } = await makeDoor()
  expect(await consoleOn(folder, workspace)).toMatchObject({ found: ['Ada 1'], asked: [{ limit: 1000 }] })
  await make('Ada 2')
  await workspace.ok(contract.passes.update, { params: { id: first.id }, body: { label: 'Ada 3' } })
  const second = await consoleOn(folder, workspace)
  expect(second).toMatchObject({ start: ['Ada 1'], asked: [{ since: expect.any(String) }] })
  expect(second.found!.toSorted()).toEqual(['Ada 2', 'Ada 3'])
  const third = await consoleOn(folder, workspace)
  expect(third.start!.toSorted()).toEqual(['Ada 2', 'Ada 3'])
})

test('loads the whole list if the server cannot send changes to it', async () => {
  const { workspace, folder, templateId } = await makeDoor()
  await consoleOn(folder, workspace)
  await consoleOn(folder, workspace)
  await workspace.ok(contract.templates.update, { params: { id: templateId }, body: { name: 'Renamed' } })
  const stale = await consoleOn(folder, workspace)
  expect(stale.asked.map(({ since }) => since !== undefined)).toEqual([true, false])
  const ofBefore = await consoleOn(folder, workspace, async ({ since }) => {
    if (since !== undefined) throw errorOf(400, 'VALIDATION_ERROR')
  })
  expect(ofBefore).toMatchObject({ found: ['Ada 1'], rejection: null })
  expect(ofBefore.asked).toHaveLength(2)
})

test('a console killed while it loaded a list starts with the previous list', async () => {
  const { workspace, make, folder } = await makeDoor()
  await consoleOn(folder, workspace)
  const store = new TableStore(await openSqliteTables(join(folder, 'door.db')))
  const { items } = await workspace.ok(contract.scanner.snapshot, { query: { limit: 1000 } })
  await store.beginList()
  await store.addToList([{ ...items[0]!, passId: newId(api.now), label: 'Ada of another list' }])
  await store.close()
  await make('Ada 2')
  const next = await consoleOn(folder, workspace)
  expect(next.start).toEqual(['Ada 1'])
  expect(next.found!.toSorted()).toEqual(['Ada 1', 'Ada 2'])
})

test('two consoles of one door load a list one after the other, and a third one starts with it', async () => {
  const { workspace, folder } = await makeDoor()
  const [one, other] = await Promise.all([consoleOn(folder, workspace), consoleOn(folder, workspace)])
  for (const { found } of [one, other]) expect(found).toEqual(['Ada 1'])
  const asked = [...one.asked, ...other.asked].filter(({ since }) => since === undefined)
  expect(asked).toHaveLength(1)
  expect(await consoleOn(folder, workspace)).toMatchObject({ start: ['Ada 1'] })
})
