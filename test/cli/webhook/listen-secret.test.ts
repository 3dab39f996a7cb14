import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listenSecret } from '../../../src/cli/webhook/listen.ts'
import { temporaryFolder } from '../../support/databases.ts'

test('concurrent first listeners of a profile share one secret', async () => {
  const path = join(temporaryFolder(), 'passes', 'profiles.json')
  const ask = (name: string) => listenSecret({ name, path })
  const [one, two, other] = await Promise.all([ask('a'), ask('a'), ask('b')])
  expect(two).toBe(one)
  expect(other).not.toBe(one)
  expect(await Promise.all([ask('a'), ask('b')])).toEqual([one, other])
})
