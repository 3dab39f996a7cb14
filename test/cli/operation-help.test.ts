import { expect, test } from 'vitest'
import { operationHelp } from '../../src/cli/operation-help.ts'
import { allRoutes } from '../support/conformance.ts'

test('each operation shows its path, its parameters, and its responses', () => {
  for (const { name, route } of allRoutes) {
    const text = operationHelp(name)
    for (const part of [`${route.method} ${route.path}`, 'CURL', 'PASSES', `client.${name}(`, 'ERRORS']) {
      expect(text, name).toContain(part)
    }
    expect(text).not.toMatch(/undefined|\[object /)
  }
})

test('a resource lists its operations, and suggests one for a mistyped name', () => {
  expect(operationHelp('events')).toMatch(/^events\.follow +GET \/v1\/events +Follow events/)
  expect(() => operationHelp('scans.creat')).toThrow(
    expect.objectContaining({ hint: expect.stringContaining('did you mean scans.create?') }),
  )
  expect(() => operationHelp('quite.another')).toThrow(
    expect.objectContaining({ hint: expect.stringContaining('passes, balances, notifications') }),
  )
})
