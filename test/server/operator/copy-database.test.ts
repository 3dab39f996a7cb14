import { expect, test } from 'vitest'
import { requireEmpty } from '../../../src/server/operator/copy-database.ts'
import { emptyDatabase, migratedDatabase } from '../../support/databases.ts'

test('accepts only an existing PostgreSQL database without tables as the target of a copy', async () => {
  await requireEmpty(await emptyDatabase('postgres'))
  const used = await migratedDatabase('postgres')
  await expect(requireEmpty(used)).rejects.toThrow('contains tables: choose an empty database')
  await expect(requireEmpty(`${used}_gone`)).rejects.toThrow('the server has no database of that name')
})
