import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { DefinitionInput } from '../../../src/core/contract/schemas/definition.ts'
import { GoogleApiError } from '../../../src/wallets/google/api/api-error.ts'
import { useApi } from '../../support/api.ts'
import { oneDialect } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { passBody, publishedTemplate } from '../fixtures.ts'

/** The class shows the door, and the object shows the seat. */
const performance: DefinitionInput = {
  variables: ['show', 'door', 'seat'].map((name) => ({ name, label: name, default: 'none', example: 'x' })),
  design: {
    organizationName: 'Harbour Theatre',
    description: 'A seat',
    fields: { secondary: [{ key: 'seat', label: 'Seat', value: '{{seat}}' }] },
  },
  google: {
    kind: 'eventTicket',
    classKey: '{{show}}',
    class: { eventName: { defaultValue: { language: 'en', value: '{{show}}, door {{door}}' } } },
  },
}

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  /** Creates the given number of passes of one class that are saved at Google. */
  async function held(many: number) {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace, { definition: performance })
    const ids: string[] = []
    for (let made = 0; made < many; made += 100) {
      const passes = Array.from({ length: Math.min(100, many - made) }, () => passBody(template.id))
      const { results } = await workspace.ok(contract.passes.createBatch, { body: { passes } })
      ids.push(...results.map(({ pass }) => pass!.id))
    }
    await api.runJobs()
    const find = async (id: string) => (await api.services.store.passes.find(workspace.id, id))!
    for (const id of ids) await api.services.google!.ensure(await find(id), api.now)
    const update = (id: string, variables: Record<string, string>) =>
      workspace.ok(contract.passes.update, { params: { id }, body: { variables } })
    const stateOf = async (id: string) =>
      (await workspace.ok(contract.passes.wallets, { params: { id } })).google?.state
    return { workspace, ids, update, stateOf }
  }

  /** Records the requests to Google from now on. */
  function watch() {
    const { bulk } = api.services.google!.api
    const classes = vi.spyOn(bulk, 'upsertClass')
    const objects = vi.spyOn(bulk, 'updateObject')
    onTestFinished(() => void vi.restoreAllMocks())
    return { classes, objects, asked: () => [classes.mock.calls.length, objects.mock.calls.length] }
  }

  test('Google gets the class once and no object if only the class of many passes changes', async () => {
    const { ids, update, stateOf } = await held(Number(process.env.PASSES_EQUAL_OBJECTS ?? 20))
    const google = watch()
    for (const id of ids) await update(id, { door: 'B' })
    await api.runJobs()
    expect(google.asked()).toEqual([1, 0])
    expect(await stateOf(ids[0]!)).toBe('current')
    // Changes of the object are sent as usual.
    await update(ids[0]!, { seat: '7' })
    await api.runJobs()
    expect(google.asked()).toEqual([1, 1])
  })

  test('an update back to an earlier content is sent if the update in between might have arrived', async () => {
    const { ids, update, stateOf } = await held(1)
    const [id] = ids as [string]
    const google = watch()
    // The request arrives, but its response is lost.
    const { updateObject } = api.services.google!.api
    google.objects.mockImplementationOnce(async (...call) => {
      await updateObject(...call)
      throw new GoogleApiError({ kind: 'unavailable', message: 'No answer' })
    })
    await update(id, { seat: '7' })
    await api.runJobs()
    expect(google.asked()).toEqual([0, 1])
    await update(id, { seat: 'none' })
    api.advance(60)
    await api.runJobs()
    expect(google.asked()).toEqual([0, 2])
    expect(await stateOf(id)).toBe('current')
    await update(id, { door: 'C' })
    await api.runJobs()
    expect(google.asked()).toEqual([1, 2])
  })

  test('sends again after two concurrent sends, whose order is unknown', async () => {
    const { workspace, ids, update } = await held(1)
    const [id] = ids as [string]
    const { store, google: sync } = api.services
    const google = watch()
    const versions = [await update(id, { seat: '7' }), await update(id, { seat: '8' })].length
    const pass = (await store.passes.find(workspace.id, id))!
    const older = { ...pass, walletVersion: pass.walletVersion - 1, variables: { seat: '7' } }
    const { updateObject } = api.services.google!.api
    google.objects.mockImplementationOnce(async (...call) => {
      // The second update begins before the first one is recorded.
      await eventually(() => expect(google.objects).toHaveBeenCalledTimes(versions))
      await updateObject(...call)
    })
    await Promise.all([sync!.update(pass), sync!.update(older)])
    const [object] = await store.googleObjects.list(workspace.id, [id])
    expect(object!.sentDigest).toBeNull()
    await update(id, { door: 'D' })
    await api.runJobs()
    expect(google.asked()).toEqual([1, versions + 1])
  })

  test('an unrecorded send that started before a recorded one prevents skipping', async () => {
    const { workspace, ids, update } = await held(1)
    const [id] = ids as [string]
    const { store, google: sync } = api.services
    const google = watch()
    await update(id, { seat: '7' })
    const pass = (await store.passes.find(workspace.id, id))!
    const { updateObject } = api.services.google!.api
    google.objects.mockImplementationOnce(async (...call) => {
      // Its process is killed later, after Google accepted something else.
      await store.transaction((tx) => tx.googleObjects.markSending(workspace.id, id, 'sending another'))
      await updateObject(...call)
    })
    await sync!.update(pass)
    await update(id, { door: 'D' })
    await api.runJobs()
    expect(google.asked()).toEqual([1, 2])
  })

  test('an update equal to the content at Google is sent while another one is in flight', async () => {
    const { workspace, ids, update } = await held(1)
    const [id] = ids as [string]
    const { store, google: sync } = api.services
    const google = watch()
    await update(id, { door: 'B' })
    const pass = (await store.passes.find(workspace.id, id))!
    const [before] = await store.googleObjects.list(workspace.id, [id])
    await store.transaction((tx) => tx.googleObjects.markSending(workspace.id, id, 'sending another'))
    expect(await sync!.update(pass, before)).toBe('sent')
    expect(google.objects).toHaveBeenCalledOnce()
  })
})
