import { join } from 'node:path'
import { expect, test } from 'vitest'
import { takeProcessLock } from '../../../src/storage/db/sqlite/process-lock.ts'
import { temporaryFolder } from '../../support/databases.ts'

test('a lock is free again only after its release, also within a process', async () => {
  const path = join(temporaryFolder(), 'lock')
  const release = await takeProcessLock(path)
  expect(await takeProcessLock(path)).toBeUndefined()
  expect(await takeProcessLock(path)).toBeUndefined()
  await release!()
  const again = await takeProcessLock(path)
  expect(again).toBeDefined()
  await again!()
})

test('reports a lock file that cannot be used', async () => {
  await expect(takeProcessLock(temporaryFolder())).rejects.toThrow('SQLITE_CANTOPEN')
})
