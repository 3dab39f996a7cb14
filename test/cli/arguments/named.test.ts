import { expect, test } from 'vitest'
import { askForNames, namedFlag } from '../../../src/cli/arguments/named.ts'

test('a command with a zone does not ask for the project, which the zone determines', async () => {
  const project = namedFlag('project', '', { ask: { orNone: 'Every project', unless: 'zone' } })
  const connect = () => {
    throw new Error('connected')
  }
  await expect(askForNames({ project }, { zone: 'Hall' }, connect)).resolves.toBeUndefined()
  await expect(askForNames({ project }, {}, connect)).rejects.toThrow('connected')
})
