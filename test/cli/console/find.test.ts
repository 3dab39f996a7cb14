import { expect, test } from 'vitest'
import { createControls } from '../../../src/cli/console/controls.ts'
import { type Door, findPasses } from '../../../src/cli/console/door.ts'
import { type DoorSnapshot, fetchSnapshot, type ListKeeper } from '../../../src/cli/console/offline/snapshot.ts'
import { publishedTemplate } from '../../server/fixtures.ts'
import { useApi } from '../../support/api.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { serveApp } from '../../support/served-app.ts'

// biome-ignore lint/correctness/useHookAtTopLevel: no hook of React
const api = useApi('sqlite')

test('who is called exactly so is found first, online, with the scopes of a door alone, and offline, however many newer names hold the text', async () => {
  const workspace = await api.workspace()
  const { client } = await serveApp(api, workspace.token)
  const { id: templateId } = await publishedTemplate(workspace)
  const make = (n: number, label: string) => ({ externalPassId: `T-${n}`, label, templateId, variables: {} })
  const others = Array.from({ length: 30 }, (_, n) => make(n + 2, `Ada ${n}`))
  await client.passes.createBatch({ body: { passes: [make(0, 'Ada'), make(1, 'Eve'), ...others] } })
  const list: DoorSnapshot = await fetchSnapshot(client, {
    folder: temporaryFolder(),
    projectId: undefined,
    signal: new AbortController().signal,
  })
  const scopes = ['scans:read', 'scans:write'] as const
  const { client: ofDoor } = await serveApp(api, await api.token(workspace.id, { scopes: [...scopes] }))
  const ways = [
    ['online', client],
    ['online', ofDoor],
    ['offline', client],
  ] as const
  for (const [state, client] of ways) {
    const found = async (text: string) => {
      const options = { client, connection: { state }, lists: { list } as ListKeeper, projectId: undefined }
      const candidates = await findPasses(text, options as Parameters<typeof findPasses>[1])
      return (candidates as { label: string }[]).map(({ label }) => label)
    }
    expect((await found('Ada'))[0]).toBe('Ada')
    expect(await found('Ada')).toHaveLength(20)
    expect((await found('T-1'))[0]).toBe('Eve')
  }
})

test('Ctrl-C with codes that are not judged lists them and asks; without any it ends the console', () => {
  const state = { unevaluated: ['A-1', 'A-2'] as string[] }
  let ends = 0
  const controls = createControls({
    door: { state, notify: () => undefined } as unknown as Door,
    clearInput: () => undefined,
    onInterrupt: () => {
      ends += 1
    },
    onChange: () => undefined,
  })
  const press = (key: 'interrupt' | 'escape') => controls.handle({ kind: 'key', key })
  press('interrupt')
  expect([ends, controls.panel]).toEqual([0, { kind: 'quit', unevaluated: ['A-1', 'A-2'] }])
  press('escape')
  expect([ends, controls.panel]).toEqual([0, null])
  press('interrupt')
  press('interrupt')
  expect(ends).toBe(1)
  state.unevaluated = []
  press('escape')
  press('interrupt')
  expect(ends).toBe(2)
})
