import type { Knex } from 'knex'
import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { createStore } from '../../../src/storage/store.ts'
import { dialects } from '../../support/databases.ts'
import {
  insertPasses,
  insertTemplate,
  insertWorkspace,
  newPass,
  openTestDatabase,
  openTestStore,
  start,
} from '../fixtures.ts'

describe.each(dialects)('on %s', (dialect) => {
  test('counts passes and stored bytes of each workspace', async () => {
    const { database } = await openTestStore(dialect)
    const db = database.writer
    const [full, other, empty] = [await insertRows(db, 3), await insertRows(db, 1), newId(start)]

    const { usage } = createStore(database)
    // Each pass has 9 bytes of variables and each template a definition of 4; there is one image of 70 bytes.
    expect(await usage.findStored(full)).toEqual({ passes: 3, storedBytes: 3 * 9 + 4 + 70 })
    expect(await usage.findStored(other)).toEqual({ passes: 1, storedBytes: 9 + 4 + 70 })
    expect(await usage.findStored(empty)).toEqual({ passes: 0, storedBytes: 0 })
    await db('passes').where({ workspace_id: full, external_pass_id: 'p0' }).update({ variables: '{}' })
    await db('images').where({ workspace_id: other }).delete()
    expect(await usage.findStored(full)).toEqual({ passes: 3, storedBytes: 2 * 9 + 2 + 4 + 70 })
    expect(await usage.findStored(other)).toEqual({ passes: 1, storedBytes: 9 + 4 })
  })

  test('concurrent writes of many connections are counted in full, and rolled-back ones are not', async () => {
    const { url, store } = await openTestStore(dialect)
    const workspaceId = await insertWorkspace(store)
    const version = await insertTemplate(store, workspaceId)
    const before = await store.usage.findStored(workspaceId)
    const servers = [store, ...[1, 2].map(() => createStore(openTestDatabase(url)))]
    await Promise.all(
      Array.from({ length: 30 }, (_, n) => {
        const passes = Array.from({ length: 1 + (n % 3) }, () => newPass(version, { variables: { seat: 'Ä' } }))
        return insertPasses(servers[n % 3]!, workspaceId, passes)
      }),
    )
    const failed = store.transaction(async (tx) => {
      await tx.passes.insert(workspaceId, [newPass(version)], start)
      throw new Error('never mind')
    })
    await expect(failed).rejects.toThrow('never mind')
    const after = await store.usage.findStored(workspaceId)
    expect(after).toEqual({ passes: 60, storedBytes: before.storedBytes + 60 * Buffer.byteLength('{"seat":"Ä"}') })
  })
})

/** Inserts a workspace with passes, a template version, and an image. */
async function insertRows(db: Knex, passes: number): Promise<string> {
  const [id, template, version] = [newId(start), newId(start), newId(start)]
  const made = { created_at: 1, updated_at: 1 }
  const own = { workspace_id: id, ...made }
  await db('workspaces').insert({ id, name: id, created_at: 1, offline_scanning: true })
  await db('templates').insert({
    ...own,
    id: template,
    name: 'T',
    description: '',
    pass_type: 'generic',
    latest_version: 1,
  })
  await db('template_versions').insert({
    ...own,
    id: version,
    template_id: template,
    version: 1,
    stage: 'draft',
    definition: '"ä"',
  })
  const image = { id: newId(start), content_type: 'image/png', width: 1, height: 1, bytes: 70, created_at: 1 }
  await db('images').insert({ ...image, workspace_id: id, data: Buffer.from('x') })
  for (let n = 0; n < passes; n++) {
    await db('passes').insert({
      ...own,
      id: newId(start),
      external_pass_id: `p${n}`,
      external_folded: `p${n}`,
      label: 'x',
      label_folded: 'x',
      status: 'QUEUED',
      version: 1,
      revision: 1,
      wallet_version: 1,
      template_version: 1,
      link_generation: 0,
      template_id: template,
      template_version_id: version,
      scan_code: 'x',
      apple_token: 'x',
      has_windows: false,
      variables: '{"a":"b"}',
      modified_at: 1,
    })
  }
  return id
}
