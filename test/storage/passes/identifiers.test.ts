import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { activateIdentifiers, MAX_STALE } from '../../../src/storage/passes/identifiers.ts'
import { dialects } from '../../support/databases.ts'
import { insertPasses, insertTemplate, insertWorkspace, newPass, openTestStore } from '../fixtures.ts'

test.each(dialects)('on %s, a pass keeps a limited number of earlier codes, including the last', async (dialect) => {
  const { store, database } = await openTestStore(dialect)
  const workspaceId = await insertWorkspace(store)
  const version = await insertTemplate(store, workspaceId)
  const [passId, other] = (await insertPasses(
    store,
    workspaceId,
    ['one', 'two'].map((externalPassId) => newPass(version, { externalPassId })),
  )) as [string, string]
  const hex = (digests: Uint8Array[]) => digests.map((digest) => Buffer.from(digest).toString('hex')).toSorted()
  const known = async (id: string, active: boolean) =>
    hex(await database.writer('pass_identifiers').where({ pass_id: id, active }).pluck('digest'))

  const [first] = await known(passId, true)
  const codes = Array.from({ length: MAX_STALE + 20 }, () => randomBytes(32))
  const use = (digest: Uint8Array) => activateIdentifiers(database.writer, workspaceId, [{ passId, digest }])
  for (const code of codes.slice(0, MAX_STALE)) await use(code)
  expect(await known(passId, false)).toEqual([first, ...hex(codes.slice(0, MAX_STALE - 1))].toSorted())
  for (const [n, code] of codes.entries()) {
    if (n < MAX_STALE) continue
    await use(code)
    const stale = await known(passId, false)
    expect(stale).toHaveLength(MAX_STALE)
    expect(stale).toEqual(expect.arrayContaining(hex([codes[n - 1]!])))
    expect(await known(passId, true)).toEqual(hex([code]))
  }
  // A former code that is used again is not stale.
  await use(codes.at(-2)!)
  expect(await known(passId, true)).toEqual(hex([codes.at(-2)!]))
  expect(await known(passId, false)).toEqual(expect.arrayContaining(hex([codes.at(-1)!])))
  expect(await known(other, true)).toHaveLength(1)
})
