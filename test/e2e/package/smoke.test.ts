import { describe, expect, test } from 'vitest'
import { dialects } from '../../support/databases.ts'
import { startServer } from '../support/server.ts'

describe.each(dialects)('on %s', (dialect) => {
  test('a server starts, answers whose token it is asked with, and stops on SIGTERM', async () => {
    const server = await startServer({ dialect })
    expect(await server.client.tokens.current()).toMatchObject({ name: 'first owner', workspaceName: 'default' })
    expect(await server.stop()).toBe(0)
  })
})
