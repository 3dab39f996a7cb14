import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { commandSamples } from '../../../src/core/openapi-examples.ts'

const operations = Object.entries(contract).flatMap(([resource, routes]) =>
  Object.keys(routes).map((operation) => `${resource}.${operation}`),
)

test.each(operations)('%s has a command, which exists', (operation) => {
  const sample = commandSamples[operation as keyof typeof commandSamples]
  expect(sample, 'add the endpoint to the table, with its command').toBeDefined()
  const words = sample.split(' ')
  const names = words.map((_, n) => words.slice(0, n + 1).join('/'))
  const exists = (name: string) => existsSync(new URL(`../../../src/commands/${name}.ts`, import.meta.url))
  expect(names.some(exists), `passes ${sample}`).toBe(true)
})

test('the table names no endpoint that is gone', () => {
  expect(Object.keys(commandSamples).filter((operation) => !operations.includes(operation))).toEqual([])
})
