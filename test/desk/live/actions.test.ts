import { expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { Route } from '../../../src/core/route.ts'
import { type ActionName, actions, isPermitted } from '../../../src/desk/live/actions.ts'

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
