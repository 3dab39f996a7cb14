import type { Command } from '@oclif/core'
import { expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { type Scope, scopes } from '../../../src/core/route.ts'
import { boardSources, passSources } from '../../../src/desk/live/sources.ts'
import { cancelCommand, passCommands, redeliverCommand, reverseCommand } from '../../../src/desk/page/commands.ts'

const { href } = new URL('../../../bin/dev-commands.js', import.meta.url)
const { commands }: { commands: Record<string, typeof Command> } = await import(href)

test('each command that the desk shows exists, with its flags', async () => {
  const shown = [
    ...passCommands({ id: 'p', status: 'ISSUED' }),
    ...passCommands({ id: 'p', status: 'VOID' }),
    reverseCommand('s'),
    cancelCommand('p', 'n'),
    redeliverCommand('d'),
  ]
  for (const text of shown) {
    const words = text.replaceAll(/"[^"]*"/g, 'text').split(' ')
    expect(words.shift(), text).toBe('passes')
    const twoWords = commands[`${words[0]}:${words[1]}`]
    const command = twoWords ?? commands[words[0]!]!
    for (const flag of words.filter((word) => word.startsWith('--'))) {
      expect(Object.keys(command.flags), text).toContain(flag.slice(2))
    }
    const given = words
      .slice(twoWords ? 2 : 1)
      .filter((word, n, all) => !word.startsWith('--') && !all[n - 1]?.startsWith('--'))
    expect(given.length, text).toBe(Object.values(command.args as Record<string, { required?: boolean }>).length)
  }
})

test('proposes nothing for a void pass that would change it', () => {
  expect(passCommands({ id: 'p', status: 'VOID' }).join('\n')).not.toMatch(/void|notify|rotate|revoke/)
})

test('each source requests only what its scope allows, and only reads', async () => {
  for (const [name, { scope, load }] of Object.entries({ ...boardSources, ...passSources })) {
    const asked: (Scope | null)[] = []
    const operation = (resource: string, operation: string) => async () => {
      const route = (contract as unknown as Record<string, Record<string, { method: string; scope: Scope | null }>>)[
        resource
      ]![operation]!
      expect([name, route.method]).toEqual([name, 'GET'])
      asked.push(route.scope)
      return { items: [{ id: 'b', status: 'PENDING' }] }
    }
    const api = new Proxy(
      {},
      { get: (_, resource: string) => new Proxy({}, { get: (_, name: string) => operation(resource, name) }) },
    )
    const facts = {
      api,
      projectId: 'p',
      passId: 'p',
      from: '',
      paceFrom: '',
      minute: new Date(0).toISOString(),
      timeZone: 'UTC',
    }
    await (load as (facts: unknown) => Promise<unknown>)(facts).catch((error: unknown) => {
      // Cards are bytes, which this client does not return.
      if (name !== 'cards') throw error
    })
    expect(asked.length, name).toBeGreaterThan(0)
    expect([name, ...new Set(asked)]).toEqual([name, scope])
    if (scope) expect(scopes).toContain(scope)
  }
})
