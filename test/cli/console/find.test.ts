import { expect, onTestFinished, test } from 'vitest'
import type { Door } from '../../../src/cli/console/console-door.ts'
import { createControls } from '../../../src/cli/console/controls.ts'
import { createClient } from '../../../src/client/client.ts'
import { publishedTemplate } from '../../server/fixtures.ts'
import { useApi } from '../../support/api.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { serveApp } from '../../support/served-app.ts'
import { openDoor } from './console.ts'

// biome-ignore lint/correctness/useHookAtTopLevel: no hook of React
const api = useApi('sqlite')

test('an exact name is found first, online with door scopes and offline, despite newer partial matches', async () => {
  const workspace = await api.workspace()
  const { client } = await serveApp(api, workspace.token)
  const { id: templateId } = await publishedTemplate(workspace)
  const make = (n: number, label: string) => ({ externalPassId: `T-${n}`, label, templateId, variables: {} })
  const others = Array.from({ length: 30 }, (_, n) => make(n + 2, `Ada ${n}`))
  await client.passes.createBatch({ body: { passes: [make(0, 'Ada'), make(1, 'Eve'), ...others] } })
  const scopes = ['scans:read', 'scans:write'] as const
  const { client: ofDoor } = await serveApp(api, await api.token(workspace.id, { scopes: [...scopes] }))
  const away = createClient({ url: 'http://127.0.0.1:9', token: workspace.token, attempts: 1 })
  onTestFinished(() => away.close())
  const ways = [
    ['online', client],
    ['online', ofDoor],
    ['offline', away],
  ] as const
  const folder = temporaryFolder()
  for (const [state, client] of ways) {
    const door = await openDoor(client, folder, { isReached: state === 'online' })
    if (state === 'online') await door.flush(60_000)
    const found = async (text: string) => {
      return ((await door.search(text)) as { label: string }[]).map(({ label }) => label)
    }
    expect(door.state).toMatchObject({ lists: { list: { size: 32 } } })
    expect((await found('Ada'))[0]).toBe('Ada')
    expect(await found('Ada')).toHaveLength(20)
    expect((await found('T-1'))[0]).toBe('Eve')
    await door.stop()
  }
})

test('Ctrl-C lists undecided codes and asks; without any, it ends the console', () => {
  const state = { unevaluated: ['A-1', 'A-2'] as string[] }
  let ends = 0
  const controls = createControls({
    door: { state, notify: () => undefined, dismiss: () => undefined } as unknown as Door,
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
