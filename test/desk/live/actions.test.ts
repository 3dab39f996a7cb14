import { expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { Route } from '../../../src/core/route.ts'
import { type ActionName, actions, isPermitted } from '../../../src/desk/live/actions.ts'
import { problemOf } from '../../../src/desk/live/problems.ts'
import { deskTexts } from '../../../src/locales/desk-texts.ts'

const names = Object.keys(actions) as ActionName[]

test.each(names)('%s needs what its route needs', (name) => {
  const { route: path, needs } = actions[name]
  const [resource, operation] = path.split('.') as [string, string]
  const route = (contract as unknown as Record<string, Record<string, Route>>)[resource]![operation]!
  // Only a person who can write passes hands out links, although everybody who reads a pass can see them.
  const scope = name === 'copyLink' ? 'passes:write' : route.scope
  expect(needs).toEqual({
    scope,
    ...(route.role && { role: route.role }),
    ...(route.forDoorLeads && { forDoorLeads: true }),
  })
})

test('offers no action to readers, and offers actions only in the projects of a role', () => {
  const reader = [{ role: 'reader' as const, projectIds: null }]
  expect(names.filter((name) => isPermitted(name, reader, 'p'))).toEqual([])
  const mixed = [...reader, { role: 'support' as const, projectIds: ['p'] }]
  expect(['p', 'q', null].map((projectId) => isPermitted('voidPass', mixed, projectId))).toEqual([true, false, false])
})

test('shows why there is no link, or why a balance has another change, in the language of the page', async () => {
  const words = await deskTexts.de()
  const api = {
    passes: { get: async () => ({ hostedLinks: { smart: null }, status: 'VOID' }) },
    balances: { createEntry: async () => ({ entry: { delta: 5 } }) },
  }
  const problem = async (name: 'copyLink' | 'changeBalance') => {
    const call = { api, target: { id: 'p', currency: null }, values: { amount: '7' }, requestId: 'r' }
    const error: unknown = await actions[name].run(call as never).catch((error: unknown) => error)
    return problemOf(error, words)
  }
  expect(await problem('copyLink')).toEqual({ text: words.problems.noLink, detail: '' })
  expect(await problem('changeBalance')).toEqual({ text: words.problems.balanceChanged, detail: '' })
})
