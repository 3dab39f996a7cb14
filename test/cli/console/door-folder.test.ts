import { expect, test } from 'vitest'
import { enter } from '../../../src/cli/console/offline/door-folder.ts'
import { type Client, ConnectionError } from '../../../src/client/client.ts'
import { temporaryFolder } from '../../support/databases.ts'

const projectId = '0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10'
const url = 'http://127.0.0.1:9'

function clientWith(respond: <T>(value: T) => Promise<T>): Client {
  return {
    tokens: { current: () => respond({ workspaceId: 'w', workspaceName: 'Fair' }) },
    projects: {
      list: () => respond({ items: [{ id: projectId, name: 'Summer' }], hasMore: false, nextCursor: null }),
      get: () => respond({ name: 'Summer' }),
    },
  } as unknown as Client
}

const reached = clientWith(async (value) => value)
const away = clientWith(() => Promise.reject(new ConnectionError(url, new Error('away'))))

test('a door of a named project opens offline once it has been opened online', async () => {
  const options = { url, token: 't', folder: temporaryFolder() }
  const start = (client: Client, project: string | undefined) => enter({ ...options, client, project })
  await expect(start(away, 'Summer')).rejects.toThrow('has no downloaded pass list for this door')
  const first = await start(reached, 'Summer')
  expect(first.place).toMatchObject({ projectId, projectName: 'Summer' })
  expect(await start(away, 'Summer')).toEqual({ ...first, isReached: false })
  // The ID identifies the same door, whose list is already stored.
  expect(await start(reached, projectId)).toEqual(first)
  await expect(start(reached, 'Winter')).rejects.toThrow('No project is called Winter')
  expect((await start(reached, undefined)).folder).not.toBe(first.folder)
})
