import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { REQUESTS_PER_SECOND, secondsAtPace } from '../../../src/core/contract/schemas/platform.ts'
import { useApi } from '../../support/api.ts'
import { oneDialect } from '../../support/databases.ts'
import { makePass, publishedTemplate } from '../fixtures.ts'

test("a forecast is the number of requests divided by the issuer's pace, in whole seconds", () => {
  expect([0, 1, REQUESTS_PER_SECOND + 1, 1_000_000].map(secondsAtPace)).toEqual([0, 1, 2, 55_556])
})

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  async function heldPasses() {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const ids: string[] = []
    for (let n = 0; n < 4; n += 1) ids.push((await makePass(workspace, template.id)).id)
    await api.runJobs()
    for (const id of ids) {
      await api.services.google!.ensure((await api.services.store.passes.find(workspace.id, id))!, api.now)
    }
    const update = (id: string, label: string, bulk: boolean) =>
      workspace.ok(contract.passes.update, { params: { id }, query: { bulk }, body: { label } })
    return { workspace, ids, update }
  }

  test('interactive requests go to Google before an earlier bulk update', async () => {
    const { workspace, ids, update } = await heldPasses()
    const [voided, changed, ...others] = ids as [string, string, ...string[]]
    for (const id of ids) await update(id, 'Grace', true)
    const waiting = async (priority: string): Promise<string[]> =>
      (
        await api.database.writer('jobs').where({ kind: 'update-google', queue: 'google', priority }).pluck('subject')
      ).toSorted()
    expect([await waiting('interactive'), await waiting('bulk')]).toEqual([[], ids.toSorted()])

    await workspace.ok(contract.passes.void, { params: { id: voided } })
    await update(changed, 'Katherine', false)
    expect(await waiting('interactive')).toEqual([voided, changed].toSorted())
    expect(await waiting('bulk')).toEqual(others.toSorted())
  })
})
