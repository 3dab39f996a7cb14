import { existsSync, readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { commandSamples } from '../../../src/core/openapi/examples.ts'

const operations = Object.entries(contract).flatMap(([resource, routes]) =>
  Object.keys(routes).map((operation) => `${resource}.${operation}`),
)

const src = new URL('../../../src/', import.meta.url)

/** The IDs of the commands in the tables of cli/resource and cli/operator. */
const fromTables = new Set<string>()
for (const folder of ['cli/resource/', 'cli/operator/']) {
  for (const file of readdirSync(new URL(folder, src))) {
    const { commands = {} }: { commands?: object } = await import(new URL(folder + file, src).href)
    for (const id of Object.keys(commands)) fromTables.add(id)
  }
}

test.each(operations)('%s has an existing command', (operation) => {
  const sample = commandSamples[operation as keyof typeof commandSamples]
  expect(sample, 'add the endpoint to the table, with its command').toBeDefined()
  const words = sample.split(' ')
  const names = words.map((_, n) => words.slice(0, n + 1).join('/'))
  const exists = (name: string) =>
    fromTables.has(name.replaceAll('/', ':')) || existsSync(new URL(`commands/${name}.ts`, src))
  expect(names.some(exists), `passes ${sample}`).toBe(true)
})

test('the table has no removed endpoints', () => {
  expect(Object.keys(commandSamples).filter((operation) => !operations.includes(operation))).toEqual([])
})
