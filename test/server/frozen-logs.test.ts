import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { createDoorActivity } from '../../src/server/api/doors/door-activity.ts'
import { createAuthenticate } from '../../src/server/http/middleware/authenticate.ts'
import { createLinkOpens } from '../../src/server/pages/link-opens.ts'
import { frozen } from '../../src/storage/store.ts'
import type { TokenWithWorkspace } from '../../src/storage/workspaces/tokens-repository.ts'
import { useApi } from '../support/api.ts'

describe('a frozen server', () => {
  const api = useApi('sqlite')

  test('logs nothing about uses of tokens, links, and doors, which it does not store', async () => {
    const { id: workspaceId, token } = await api.workspace()
    const lines: string[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
    const store = frozen(api.services.store)
    const found = await createAuthenticate(store, log)(new Headers({ 'x-api-key': token }), api.now)

    const opens = createLinkOpens({ store, log })
    opens.note({ workspaceId, projectId: found.id }, 'apple', api.now)
    await opens.flush()
    opens.close()

    const activity = createDoorActivity({ store, log })
    const door = { ...found, door: { lastSeenAt: null } } as unknown as TokenWithWorkspace
    activity.note(door, new Headers(), api.now)
    await activity.flush()
    expect(lines).toEqual([])
  })
})
